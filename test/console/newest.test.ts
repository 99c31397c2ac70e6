// Lists of the console that are loaded page by page, after their newest rows were read again.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { withNewest, withRead } from '../../console/src/live/with-newest.ts'

interface Line {
  id: number
  state: string
}

interface LinePage {
  lines: Line[]
  next_before: number | null
}

const PAGED = {
  rowsOf: (page: LinePage) => page.lines,
  withRows: (page: LinePage, lines: Line[]) => ({ ...page, lines }),
  keyOf: ({ id }: Line) => String(id),
}

const line = (id: number, state = 'known') => ({ id, state })
const pageOf = (ids: readonly number[], next: number | null = ids.at(-1) ?? null, state = 'known'): LinePage => ({
  lines: ids.map((id) => line(id, state)),
  next_before: next,
})
const newest = (...ids: number[]) => pageOf(ids, ids.at(-1) ?? null, 'read')
const listOf = (...pages: LinePage[]) => ({
  pages,
  pageParams: [null, ...pages.slice(0, -1).map((page) => page.next_before)],
})
const idsIn = (data: { pages: LinePage[] } | undefined) =>
  data?.pages.map(({ lines }) => lines.map(({ id }) => id)) ?? []

describe('the newest rows of a list', () => {
  test('come before the rows that are known beyond them, and say how a known row is now', () => {
    const known = listOf(pageOf([6, 5]), pageOf([4, 3]))
    const data = withNewest(known, newest(8, 7, 6), PAGED)

    assert.deepEqual(idsIn(data), [
      [8, 7, 6, 5],
      [4, 3],
    ])
    assert.deepEqual(data?.pages[0]?.lines[2], line(6, 'read'))
    assert.deepEqual(data?.pageParams, known.pageParams)
  })

  test('leave no hole: where they share no row with the list, the rest is loaded again', () => {
    const data = withNewest(listOf(pageOf([3, 2]), pageOf([1], null)), newest(9, 8, 7), PAGED)

    assert.deepEqual(data, { pages: [newest(9, 8, 7)], pageParams: [null] })
  })

  test('are in the order of the server, also where an older row has come into the list', () => {
    const data = withNewest(listOf(pageOf([6, 4]), pageOf([2, 1])), newest(6, 5, 4), PAGED)

    assert.deepEqual(idsIn(data), [
      [6, 5, 4],
      [2, 1],
    ])
  })

  test('no longer have a row that has left the list', () => {
    assert.deepEqual(idsIn(withNewest(listOf(pageOf([4, 3, 2, 1])), newest(4, 2), PAGED)), [[4, 2, 1]])
    assert.deepEqual(idsIn(withNewest(listOf(pageOf([4, 3])), pageOf([4], null), PAGED)), [[4]])
  })

  test('say themselves where the next page begins, if they reach beyond what is known', () => {
    const data = withNewest(listOf(pageOf([6, 5])), newest(6, 5, 4, 3), PAGED)

    assert.deepEqual(data, { pages: [newest(6, 5, 4, 3)], pageParams: [null] })
  })

  test('change nothing if the search for them ended before it found any', () => {
    const known = listOf(pageOf([], 50), pageOf([3, 2]))
    assert.equal(withNewest(known, pageOf([], 40), PAGED), known)
    assert.deepEqual(idsIn(withNewest(known, pageOf([], null), PAGED)), [[]])
    assert.equal(withNewest(undefined, newest(1), PAGED), undefined)
  })
})

test('rows that were read by themselves change where they are, and others do not come into the list', () => {
  const data = withRead(listOf(pageOf([6, 5]), pageOf([4, 3])), [line(4, 'read'), line(9, 'read')], PAGED)

  assert.deepEqual(data?.pages, [pageOf([6, 5]), { lines: [line(4, 'read'), line(3)], next_before: 3 }])
})
