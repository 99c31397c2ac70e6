// The problems that this worker has loaded: packages are unpacked by content hash and read once.
import { createWriteStream } from 'node:fs'
import { mkdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { readPackage } from '../package/read-package.ts'
import { unzip } from '../package/unzip.ts'
import type { ProblemPackage, Test } from '../package/package.ts'
import { listFolder } from '../package/files.ts'
import { without, type SourceFile } from '../programs/compile.ts'
import type { CacheEntry, DiskCache } from '../programs/disk-cache.ts'
import type { LoadedProblem } from './test-run.ts'
import { JudgeFailure } from './box-run.ts'
import { showToBoxes } from '../programs/show-to-boxes.ts'

const PROBLEMS_MAX = 100
const ANSWER_BYTES_MAX = 64 * 1024
const ANSWERS_BYTES_MAX = 16 * 1024 * 1024

/** Fetches a package's zip by the hash of its content; null: there is none. */
export type FetchPackage = (sha256: string) => Promise<Readable | null>

export interface Problems {
  get(sha256: string): Promise<LoadedProblem>
}

export interface ProblemsOptions {
  packages: DiskCache
  fetch: FetchPackage
  unpackedBytesMax: number
}

export function openProblems({ packages, fetch, unpackedBytesMax }: ProblemsOptions): Problems {
  const unpacking = new Map<string, Promise<CacheEntry>>()
  const known = new Map<string, LoadedProblem>()

  const unpack = (sha256: string) =>
    packages.get(sha256, async (into) => {
      const zip = join(into, '~package.zip')
      const stream = await fetch(sha256)
      if (stream === null) throw new JudgeFailure('The package of this problem is gone.')
      await pipeline(stream, createWriteStream(zip))
      const unpacked = join(into, 'package')
      await mkdir(unpacked)
      const { folder: own } = await unzip(zip, unpacked, unpackedBytesMax)
      await rm(zip)
      await showToBoxes(unpacked)
      return { top: own.slice(into.length + 1) }
    })

  /** Concurrent requests for the same package share one unpacking. */
  const unpackOnce = (sha256: string) => {
    const running = unpacking.get(sha256) ?? unpack(sha256)
    unpacking.set(sha256, running)
    return running.finally(() => unpacking.delete(sha256))
  }

  return {
    async get(sha256) {
      const { folder, about, isNew } = await unpackOnce(sha256) // asked every time: it notes the use
      const found = isNew ? undefined : known.get(sha256)
      const problem = found ?? problemFrom(await readPackage(join(folder, topFrom(about))))
      known.delete(sha256) // the order of the map is the order of use
      known.set(sha256, problem)
      for (const oldest of known.keys()) {
        if (known.size <= PROBLEMS_MAX) break
        known.delete(oldest)
      }
      return problem
    },
  }
}

export function problemFrom(problemPackage: ProblemPackage): LoadedProblem {
  const answers = new Map<string, Promise<Buffer | null>>()
  const included = new Map<string, Promise<readonly SourceFile[]>>()
  let bytesLeft = ANSWERS_BYTES_MAX
  const read = async ({ answerPath }: Test): Promise<Buffer | null> => {
    const { size } = await stat(answerPath)
    return size > ANSWER_BYTES_MAX ? null : readFile(answerPath)
  }
  return {
    package: problemPackage,
    answerOf(test) {
      const found = answers.get(test.name)
      if (found !== undefined) return found
      const answer = read(test)
      if (bytesLeft > 0) {
        answers.set(test.name, answer)
        void answer.then(
          (bytes) => (bytesLeft -= bytes?.length ?? 0),
          () => answers.delete(test.name),
        )
      }
      return answer
    },
    includedFiles(languageId) {
      const files = included.get(languageId) ?? includedIn(join(problemPackage.folder, 'include'), languageId)
      included.set(languageId, files)
      files.catch(() => included.delete(languageId))
      return files
    },
  }
}

/** Those for all languages, and those of the language, which count where both have a name. */
async function includedIn(folder: string, languageId: string): Promise<readonly SourceFile[]> {
  const own = await filesIn(join(folder, languageId))
  return [...without(await filesIn(join(folder, 'default')), own), ...own]
}

async function filesIn(folder: string): Promise<readonly SourceFile[]> {
  const listed = await listFolder(folder)
  return Promise.all((listed?.files ?? []).map(async (name) => ({ name, bytes: await readFile(join(folder, name)) })))
}

function topFrom(about: unknown): string {
  if (typeof about === 'object' && about !== null && 'top' in about) return String(about.top)
  throw new Error('An entry of the cache of packages is not one.')
}
