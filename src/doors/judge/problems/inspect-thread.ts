// One package, read in a thread (inspect-package.ts).
import { parentPort, workerData } from 'node:worker_threads'
import { PackageError } from '../package/package.ts'
import { inspectPackage, type InspectedPackage } from './inspect-package.ts'

export type InspectAnswer = { ok: true; inspected: InspectedPackage } | { ok: false; message: string }

const answer = (answer: InspectAnswer): void => parentPort?.postMessage(answer, [])

try {
  answer({ ok: true, inspected: await inspectPackage(workerData) })
} catch (error) {
  if (!(error instanceof PackageError)) throw error
  answer({ ok: false, message: error.message })
}
