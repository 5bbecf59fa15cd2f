// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// A wallet that accepts every signature while it is only simulated, and uses up all gas in the transaction.
/// There is no constructor: how it tells the two apart is the first slot of the storage, its bound the second.
contract HostileWallet {
    uint256 private _trick;
    uint256 private _bound;

    function isValidSignature(bytes32, bytes calldata) external view returns (bytes4) {
        if (!_isSimulated()) while (true) {}
        return 0x1626ba7e;
    }

    function _isSimulated() private view returns (bool) {
        if (_trick == 0) return tx.gasprice == 0;
        if (_trick == 1) return block.number < _bound;
        if (_trick == 2) return uint160(address(block.coinbase)) != _bound;
        return gasleft() < _bound;
    }
}
