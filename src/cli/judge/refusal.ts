// Why a package could not be verified: by its own fault, or by that of this machine.
import { PackageError } from '../../doors/judge/package/package.ts'
import { JudgeFailure } from '../../doors/judge/work/box-run.ts'

export interface PackageRefusal {
  kind: 'package' | 'system error'
  why: string
}

/** Whatever is thrown is about this package only: those after it are verified. */
export function refusalOf(error: unknown): PackageRefusal {
  if (error instanceof PackageError) return { kind: 'package', why: error.message }
  if (error instanceof JudgeFailure)
    return { kind: error.final ? 'package' : 'system error', why: `${error.message} ${error.detail}`.trim() }
  return { kind: 'system error', why: error instanceof Error ? error.message : String(error) }
}
