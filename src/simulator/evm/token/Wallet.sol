// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// A wallet that is a contract and judges signatures itself, as EIP-1271 has it: its owner's, in as many
/// bytes as it likes. Written from the EIP. There is no constructor: the owner is the first slot of the
/// storage, and with `burns` in the second it uses up whatever gas it is given.
contract Wallet {
    address private _owner;
    uint256 private _burns;

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        if (_burns != 0) while (true) {}
        if (signature.length < 65) return 0xffffffff;
        bytes32 r = bytes32(signature[0:32]);
        bytes32 s = bytes32(signature[32:64]);
        address signer = ecrecover(hash, uint8(signature[64]), r, s);
        return signer != address(0) && signer == _owner ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
    }
}
