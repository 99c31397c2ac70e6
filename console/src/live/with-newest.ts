// Rows that were read again, put into a list that is loaded page by page, the newest first.
import type { InfiniteData } from '@tanstack/react-query'

export interface Paged<Page, Row> {
  rowsOf: (page: Page) => readonly Row[]
  withRows: (page: Page, rows: Row[]) => Page
  keyOf: (row: Row) => string
}

/** What a page says of where the next one begins; null: there is none. */
interface Continued {
  next_before: string | number | null
}

/**
 * The newest page, then what is known beyond it. Where nothing is, or where rows that nobody has read may lie between the two, the
 * page stands alone, and the next one is loaded as one scrolls.
 */
export function withNewest<Page extends Continued, Row, Param>(
  data: InfiniteData<Page, Param> | undefined,
  newest: Page,
  { rowsOf, withRows, keyOf }: Paged<Page, Row>,
): InfiniteData<Page, Param> | undefined {
  if (data === undefined) return undefined
  const rows = rowsOf(newest)
  if (rows.length === 0 && newest.next_before !== null) return data // a search that stopped before it found any
  const keys = new Set(rows.map(keyOf))
  const known = data.pages.flatMap((page) => rowsOf(page).map(keyOf))
  const last = known.findLastIndex((key) => keys.has(key))
  // A known row before that one is no longer in the list, or the page would hold it.
  const beyond = new Set(last < 0 || newest.next_before === null ? [] : known.slice(last + 1))
  if (beyond.size === 0) return { pages: [newest], pageParams: data.pageParams.slice(0, 1) }
  const pages = data.pages.map((page, index) => {
    const kept = rowsOf(page).filter((row) => beyond.has(keyOf(row)))
    return withRows(page, index === 0 ? [...rows, ...kept] : kept)
  })
  return { ...data, pages }
}

/** Rows that are known change where they are. */
export function withRead<Page, Row, Param>(
  data: InfiniteData<Page, Param> | undefined,
  read: readonly Row[],
  { rowsOf, withRows, keyOf }: Paged<Page, Row>,
): InfiniteData<Page, Param> | undefined {
  if (data === undefined || read.length === 0) return data
  const byKey = new Map(read.map((row) => [keyOf(row), row]))
  const current = (page: Page) => rowsOf(page).map((row) => byKey.get(keyOf(row)) ?? row)
  return { ...data, pages: data.pages.map((page) => withRows(page, current(page))) }
}
