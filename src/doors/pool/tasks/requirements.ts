// What a job asks of the worker that does it: a region, and specs. One rule for all that compare the two.
import { isObject } from '../../../core/is-object.ts'

export type Specs = Readonly<Record<string, unknown>>

export interface Requirements {
  region: string | null
  specs: Specs | null
}

/** What a worker says of itself. */
export interface Profile {
  region: string | null
  specs: Specs | null
}

export const isInRegion = ({ region }: Requirements, profile: Profile): boolean =>
  region === null || region === profile.region

export const hasSpecs = ({ specs }: Requirements, profile: Profile): boolean =>
  specs === null || satisfies(specs, profile.specs ?? {})

export const isEligible = (required: Requirements, profile: Profile): boolean =>
  isInRegion(required, profile) && hasSpecs(required, profile)

/**
 * A number: at least as much. A text, true, false or null: the same. An object: the same rule for each of its members. Where
 * the worker has a list, one of it will do. A list: each of its items in the worker's list.
 */
function satisfies(required: unknown, offered: unknown): boolean {
  if (Array.isArray(required)) return Array.isArray(offered) && required.every((item) => satisfies(item, offered))
  if (Array.isArray(offered)) return offered.some((one) => satisfies(required, one))
  if (isObject(required)) {
    return (
      isObject(offered) &&
      Object.entries(required).every(([name, value]) => Object.hasOwn(offered, name) && satisfies(value, offered[name]))
    )
  }
  return typeof required === 'number' && typeof offered === 'number' ? offered >= required : offered === required
}
