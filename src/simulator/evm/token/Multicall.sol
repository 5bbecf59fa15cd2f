// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Several reads in one call, with the two entry points of Multicall3 that x402 and viem use. Placed
/// at Multicall3's address: without it a refused payment has no reason finer than "simulation failed".
contract Multicall {
    struct Call {
        address target;
        bytes callData;
    }

    struct Call3 {
        address target;
        bool allowFailure;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    function tryAggregate(bool requireSuccess, Call[] calldata calls)
        external
        payable
        returns (Result[] memory results)
    {
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; i++) {
            results[i] = _call(calls[i].target, calls[i].callData, requireSuccess);
        }
    }

    function aggregate3(Call3[] calldata calls) external payable returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; i++) {
            results[i] = _call(calls[i].target, calls[i].callData, !calls[i].allowFailure);
        }
    }

    function _call(address target, bytes calldata callData, bool mustSucceed) private returns (Result memory) {
        (bool success, bytes memory returnData) = target.call(callData);
        require(success || !mustSucceed, "Multicall3: call failed");
        return Result(success, returnData);
    }
}
