// Names the lines that people wrote in place of those of bundles. Node would do it itself (--enable-source-maps), and would read
// megabytes of maps at the start of every process.
import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { relative, resolve, dirname } from 'node:path'

const PLACE = /(?:file:\/\/)?(\/[^\s():]+\.c?js):(\d+):(\d+)/g
const maps = new Map<string, SourceMap | null>()

export const withSourcePlaces = (output: string): string =>
  output.replaceAll(PLACE, (place, file: string, line: string, column: string) => {
    const entry = mapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1)
    if (entry === undefined || !('originalSource' in entry)) return place
    const source = relative(process.cwd(), resolve(dirname(file), entry.originalSource))
    return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
  })

function mapOf(file: string): SourceMap | null {
  const known = maps.get(file)
  if (known !== undefined) return known
  const map = existsSync(`${file}.map`) ? new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8'))) : null
  maps.set(file, map)
  return map
}
