// What a job requires of the worker that runs it: a region, and specs. Matching and `why` compare by the same rule.
import { isObject } from '../../../core/values/is-object.ts'

export type Specs = Readonly<Record<string, unknown>>

export interface Requirements {
  region: string | null
  specs: Specs | null
}

/** What a worker declares about itself. */
export interface WorkerProfile {
  region: string | null
  specs: Specs | null
}

export const isInRegion = ({ region }: Requirements, profile: WorkerProfile): boolean =>
  region === null || region === profile.region

export const hasSpecs = ({ specs }: Requirements, profile: WorkerProfile): boolean =>
  specs === null || satisfies(specs, profile.specs ?? {})

export const isEligible = (required: Requirements, profile: WorkerProfile): boolean =>
  isInRegion(required, profile) && hasSpecs(required, profile)

/**
 * A number: at least as large. A string, boolean or null: equal. An object: this rule for each of its members. Where the
 * worker declares a list, one matching item is enough. A list: each of its items is in the worker's list.
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
