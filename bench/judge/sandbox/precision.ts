// How precisely limits hold: by how much CPU time a spinning program gets past its limit, and how close to the memory limit a program
// may come.

import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Box } from '../../../src/doors/judge/sandbox/box.ts'
import { NOTHING, openBenchSandbox, type Field } from './contestants.ts'

const SOURCE = `
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void spin(void) { for (volatile unsigned long i = 0;; i++) continue; }
int main(int argc, char **argv) {
  if (argc == 1) spin();
  if (argv[1][0] == 'f') { if (fork() == 0) spin(); wait(NULL); }
  size_t bytes = strtoull(argv[1], NULL, 10);
  volatile char *memory = malloc(bytes);
  for (size_t i = 0; i < bytes; i += 4096) memory[i] = 1;
  return 0;
}
`
const MB = 2 ** 20
const CPU_LIMITS_MS = [50, 200, 1000]
const MEMORY_LIMITS_MB = [16, 64, 256]
const STEP_BYTES = 16 * 1024

export interface Precision {
  /** Milliseconds past the limit, per kind of program. */
  overshootMs: { one: number[]; child: number[] }
  /** Bytes between the limit and the largest array that a program could fill. */
  memoryEdgeBytes: { limitMb: number; edge: number; reportedOff: number }[]
}

export async function measurePrecision(field: Field, times: number): Promise<Precision> {
  const folder = join(field.folder, 'precision')
  await mkdir(folder)
  await writeFile(join(folder, 'main.c'), SOURCE)
  await promisify(execFile)('cc', ['-O1', '-static', '-o', join(folder, 'main'), join(folder, 'main.c')])
  const runner = (await openBenchSandbox(field, 'agent')).openRunner()
  const stop = field.teardown.add(() => runner.close())
  const box = await runner.open({ workFolder: folder, writable: false, readOnlyPaths: [] })

  const overshootMs = {
    one: await overshoots(box, ['/work/main'], times),
    child: await overshoots(box, ['/work/main', 'f'], times),
  }
  const memoryEdgeBytes = []
  for (const limitMb of MEMORY_LIMITS_MB) memoryEdgeBytes.push(await findEdge(box, limitMb))
  await stop()
  return { overshootMs, memoryEdgeBytes }
}

async function overshoots(box: Box, argv: readonly string[], times: number): Promise<number[]> {
  const found: number[] = []
  for (let time = 0; time < times; time += 1) {
    const cpuMs = CPU_LIMITS_MS[time % CPU_LIMITS_MS.length] ?? 50
    const { verdict, timeMs } = await box.run({ ...NOTHING, argv, cpuMs })
    if (verdict !== 'TLE') throw new Error(`expected TLE, got ${verdict}`)
    found.push(timeMs - cpuMs)
  }
  return found
}

/** Bisects for the largest array that fits. */
async function findEdge(box: Box, limitMb: number): Promise<Precision['memoryEdgeBytes'][number]> {
  const limit = limitMb * MB
  let [fits, fails, memKb] = [limit - 2 * MB, limit + MB, 0]
  while (fails - fits > STEP_BYTES) {
    const bytes = Math.floor((fits + fails) / 2)
    const report = await box.run({ ...NOTHING, argv: ['/work/main', String(bytes)], memoryBytes: limit, cpuMs: 10_000 })
    if (report.verdict === 'OK') [fits, memKb] = [bytes, report.memKb]
    else fails = bytes
  }
  return { limitMb, edge: limit - fits, reportedOff: memKb * 1024 - fits }
}
