// Judge JSON v1 as the helper writes it, one line per run.
import type { RunRequest, RunReport } from './box.ts'
import { explained } from './remedies.ts'
import { ProtocolError } from './sandbox-error.ts'

const SCHEMA_VERSION = 1
const VERDICTS = ['OK', 'TLE', 'MLE', 'OLE', 'RE', 'SE'] as const

/** Checks that the line answers this very run, before anything of it is believed. */
export function parseReport(line: unknown, run: Pick<RunRequest, 'jobId' | 'attemptId'>): RunReport {
  if (typeof line !== 'object' || line === null || Array.isArray(line))
    throw new ProtocolError('invalid_json', 'no object')
  const fields: Record<string, unknown> = { ...line }
  const expectSame = (
    name: string,
    expected: string | number,
    reason: 'schema_version_mismatch' | 'job_id_mismatch' | 'attempt_id_mismatch',
  ) => {
    if (!(name in fields)) throw new ProtocolError('missing_field', name)
    if (fields[name] !== expected) throw new ProtocolError(reason, `${JSON.stringify(fields[name])} for ${expected}`)
  }
  expectSame('schema_version', SCHEMA_VERSION, 'schema_version_mismatch')
  expectSame('job_id', run.jobId, 'job_id_mismatch')
  expectSame('attempt_id', run.attemptId, 'attempt_id_mismatch')

  const verdict = VERDICTS.find((verdict) => verdict === fields['verdict'])
  if (verdict === undefined) throw new ProtocolError('missing_field', 'verdict')
  const sandboxError = text(fields, 'sandbox_error')
  return {
    verdict,
    timeMs: integer(fields, 'time_ms'),
    wallMs: integer(fields, 'wall_ms'),
    memKb: integer(fields, 'mem_kb'),
    exitCode: integer(fields, 'exit_code'),
    exitSignal: integer(fields, 'exit_signal'),
    sandboxError: sandboxError === '' ? '' : explained(sandboxError),
    outputBytes: integer(fields, 'output_bytes'),
    starved: fields['starved'] === true,
    degraded: fields['degraded'] === true,
    same: fields['same'] === true,
  }
}

function integer(fields: Record<string, unknown>, name: string): number {
  const value = fields[name]
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw new ProtocolError('missing_field', name)
  return value
}

function text(fields: Record<string, unknown>, name: string): string {
  const value = fields[name]
  if (typeof value !== 'string') throw new ProtocolError('missing_field', name)
  return value
}
