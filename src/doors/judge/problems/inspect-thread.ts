// A thread that reads packages, one at a time (inspect-threads.ts).
import { parentPort } from 'node:worker_threads'
import { PackageError } from '../package/package.ts'
import { inspectPackage, type InspectedPackage, type InspectRequest } from './inspect-package.ts'

export type InspectAnswer = { ok: true; inspected: InspectedPackage } | { ok: false; message: string }

const answer = (answer: InspectAnswer): void => parentPort?.postMessage(answer, [])

parentPort?.on('message', async (request: InspectRequest) => {
  try {
    answer({ ok: true, inspected: await inspectPackage(request) })
  } catch (error) {
    if (!(error instanceof PackageError)) throw error // ends the thread, which is how the server hears of it
    answer({ ok: false, message: error.message })
  }
})
