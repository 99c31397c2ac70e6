import { InvalidArgumentError } from 'commander'

export function positiveInteger(raw: string): number {
  const value = /^\d{1,9}$/.test(raw) ? Number(raw) : NaN
  if (value >= 1) return value
  throw new InvalidArgumentError('expected a positive integer')
}

export function positiveNumber(raw: string): number {
  const value = /^\d{1,9}(\.\d{1,6})?$/.test(raw) ? Number(raw) : NaN
  if (value > 0) return value
  throw new InvalidArgumentError('expected a positive number')
}

export function nonNegativeInteger(raw: string): number {
  if (/^\d{1,9}$/.test(raw)) return Number(raw)
  throw new InvalidArgumentError('expected an integer of at least 0')
}
