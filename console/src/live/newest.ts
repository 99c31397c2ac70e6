// Lists that are loaded page by page, the newest first. When something has changed, only the newest rows are read again and put
// into what is loaded: to read every page again would cost a request for each, however far one has scrolled.
import { hashKey, type InfiniteData, type QueryKey } from '@tanstack/react-query'
import { queries } from '../session/client.ts'
import { untilAnswered } from '../session/errors.ts'
import { useThrottled } from './throttle.ts'

const EVERY_MS = 1000

interface Paged<Page, Row> {
  rowsOf: (page: Page) => readonly Row[]
  withRows: (page: Page, rows: Row[]) => Page
  keyOf: (row: Row) => string
}

interface NewestOptions<Page, Row> extends Paged<Page, Row> {
  /** Of the list. */
  queryKey: QueryKey
  load: () => Promise<Page>
}

/** Lists whose newest rows are being read, and whether something has happened since. */
const underWay = new Map<string, { isOld: boolean }>()

/** Reads the newest rows again, at most once a second, and until the server answers. */
export function useReloadNewest<Page, Row>({ queryKey, load, ...paged }: NewestOptions<Page, Row>): () => void {
  const read = async () => {
    const newestKey = [...queryKey, 'newest']
    const page = await queries.fetchQuery({ queryKey: newestKey, queryFn: load, staleTime: 0, ...untilAnswered })
    const update = (data: InfiniteData<Page> | undefined) => withNewest(data, paged.rowsOf(page), paged)
    queries.setQueryData<InfiniteData<Page>>(queryKey, update)
  }
  const reload = async () => {
    const key = hashKey(queryKey)
    const running = underWay.get(key)
    // Its answer may be older than what happened now.
    if (running !== undefined) return void (running.isOld = true)
    const mine = { isOld: true }
    underWay.set(key, mine)
    try {
      while (mine.isOld) {
        mine.isOld = false
        await read()
      }
    } finally {
      underWay.delete(key)
    }
  }
  return useThrottled(() => void reload().catch(() => {}), EVERY_MS) // a refusal is said by the list itself
}

/** Rows that are known change where they are; the others come first. */
function withNewest<Page, Row, Param>(
  data: InfiniteData<Page, Param> | undefined,
  newest: readonly Row[],
  { rowsOf, withRows, keyOf }: Paged<Page, Row>,
): InfiniteData<Page, Param> | undefined {
  if (data === undefined) return undefined
  const byKey = new Map(newest.map((row) => [keyOf(row), row]))
  const known = new Set(data.pages.flatMap((page) => rowsOf(page).map(keyOf)))
  const fresh = newest.filter((row) => !known.has(keyOf(row)))
  const pages = data.pages.map((page, index) => {
    const rows = rowsOf(page).map((row) => byKey.get(keyOf(row)) ?? row)
    return withRows(page, index === 0 ? [...fresh, ...rows] : rows)
  })
  return { ...data, pages }
}
