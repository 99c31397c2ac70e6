interface ListPage<Row, Place> {
  rows: readonly Row[]
  /** Where the next page begins. Null: there is none. */
  next: Place | null
}

/** All rows of a list that the server returns in pages. */
export async function everyRow<Row, Place>(
  read: (query: { after?: Place }) => Promise<ListPage<Row, Place>>,
): Promise<Row[]> {
  const all: Row[] = []
  let page = await read({})
  for (;;) {
    all.push(...page.rows)
    if (page.next === null) return all
    page = await read({ after: page.next })
  }
}

/** For lists that name no next page: it begins after the last row of a full one. */
export const pageOf = <Row, Place>(rows: readonly Row[], rowsMax: number, placeOf: (row: Row) => Place) => {
  const last = rows.at(-1)
  return { rows, next: last === undefined || rows.length < rowsMax ? null : placeOf(last) }
}
