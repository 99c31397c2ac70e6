// PrecompiledHeaders that a language compiles once: half of the time that a C++ submission takes to compile is spent on reading
// <bits/stdc++.h>. They are made in a box, like everything that a compiler makes.
//
// A compiler uses a precompiled header only if nothing was included before it. Otherwise, and when it is included once more, it reads
// the header itself in the same folder, which leads on to the system's own.
import { createHash } from 'node:crypto'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Toolchain } from '../languages/toolchain.ts'
import type { BoxRunner } from '../sandbox/box.ts'
import type { DiskCache } from './disk-cache.ts'
import { BOX_ENV, IN_BOX, type PrecompiledHeaders } from './compile.ts'
import { Interrupted, JudgeFailure, runOnce, type RunScope } from '../work/box-run.ts'
import { showToBoxes } from './show-to-boxes.ts'

const MB = 1024 * 1024
const COMPILE_MS = 120_000
const MEMORY_BYTES = 2048 * MB
/** Changes when the files of an entry do: entries of earlier versions are not used any more. */
const FORMAT = 3
export const HEADER_BYTES_MAX = 512 * MB

/** The first program that includes a header waits until it is compiled, once per compiler and machine. */
export function openHeaders(cache: DiskCache): PrecompiledHeaders {
  const folders = new Map<string, Promise<string | null>>()

  const make = async (scope: RunScope, runner: BoxRunner, toolchain: Toolchain): Promise<string | null> => {
    const { header, version } = toolchain
    const key = createHash('sha256')
      .update(JSON.stringify([FORMAT, version, header]))
      .digest('hex')
    try {
      return (await cache.get(key, (into) => compileHeader(scope, runner, toolchain, into))).folder
    } catch (error) {
      if (error instanceof Interrupted) throw error
      scope.log.warn(
        { err: error, header: header?.name },
        'a header could not be precompiled; programs compile without it',
      )
      return null
    }
  }

  return {
    async for(scope, runner, { toolchain, files }) {
      const { header, language } = toolchain
      if (header === null || !files.some(({ bytes }) => bytes.includes(header.name))) return null
      const folder = folders.get(language.id) ?? make(scope, runner, toolchain)
      folders.set(language.id, folder)
      folder.catch(() => folders.delete(language.id))
      return folder
    },
  }
}

async function compileHeader(scope: RunScope, runner: BoxRunner, toolchain: Toolchain, folder: string): Promise<void> {
  const { header, paths } = toolchain
  if (header === null) return
  const own = join(folder, header.name)
  await mkdir(dirname(own), { recursive: true })
  await writeFile(own, `#include_next <${header.name}>\n`)
  await showToBoxes(folder)
  for (const writable of [folder, dirname(own)]) await chmod(writable, 0o777)
  const box = await runner.open({ workFolder: folder, writable: true, readOnlyPaths: paths, signal: scope.signal })
  try {
    const report = await runOnce(scope, box, {
      argv: header.compile.map((word) => word.replaceAll('{dir}', IN_BOX).replaceAll('{header}', header.name)),
      env: BOX_ENV,
      stdinPath: null,
      stdoutPath: null,
      stderrPath: null,
      cpuMs: COMPILE_MS,
      wallMs: 2 * COMPILE_MS,
      memoryBytes: MEMORY_BYTES,
      processesMax: 64,
      outputBytesMax: HEADER_BYTES_MAX,
      fileBytesMax: HEADER_BYTES_MAX,
      diskBytesMax: HEADER_BYTES_MAX,
      stackBytes: 64 * MB,
    })
    if (report.verdict !== 'OK') throw new JudgeFailure(`${header.name} could not be compiled: ${report.verdict}`)
  } finally {
    await box.close()
    for (const writable of [folder, dirname(own)]) await chmod(writable, 0o755)
  }
}
