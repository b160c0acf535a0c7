export function lower(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

export function higher(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
