import type {
  Abi,
  Address,
  ContractFunctionArgs,
  ContractFunctionName,
  ContractFunctionReturnType,
  Hex,
} from 'viem'
import { decodeFunctionResult, encodeFunctionData } from 'viem/utils'

/** One call of a contract, and the decoder of its return value. */
export type ViewCall<Value> = {
  readonly target: Address
  readonly data: Hex
  /** @throws Error if the bytes do not match the function */
  readonly read: (data: Hex) => Value
}

export function contractCall<
  const abi extends Abi,
  name extends ContractFunctionName<abi, 'view'>,
  args extends ContractFunctionArgs<abi, 'view', name>,
>(
  target: Address,
  abi: abi,
  functionName: name,
  args: args,
): ViewCall<ContractFunctionReturnType<abi, 'view', name>> {
  type Value = ContractFunctionReturnType<abi, 'view', name>
  const called = { abi: abi as Abi, functionName: functionName as string }
  return {
    target,
    data: encodeFunctionData({ ...called, args: args as readonly unknown[] }),
    read: (data) => decodeFunctionResult({ ...called, data }) as Value,
  }
}

/** The same call with a value derived from what it returns. */
export function mapped<Value, Derived>(
  call: ViewCall<Value>,
  derive: (value: Value) => Derived,
): ViewCall<Derived> {
  return { ...call, read: (data) => derive(call.read(data)) }
}
