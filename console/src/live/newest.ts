// Lists that are loaded page by page, the newest first. When something has changed, only the newest rows are read again and put
// into what is loaded: to read every page again would cost a request for each, however far one has scrolled.
import { hashKey, type InfiniteData, type QueryKey } from '@tanstack/react-query'
import { queries } from '../session/client.ts'
import { untilAnswered } from '../session/errors.ts'
import { readAgain } from './read-again.ts'
import { useThrottled } from './throttle.ts'
import { withNewest, withRead, type Paged } from './with-newest.ts'

const EVERY_MS = 1000

interface NewestOptions<Page, Row> extends Paged<Page, Row> {
  /** Of the list. */
  queryKey: QueryKey
  load: () => Promise<Page>
  /** Known rows that have changed and that the newest page does not hold. */
  loadOthers?: (newest: Page) => Promise<readonly Row[]>
}

/** Reads the newest rows again, at most once a second, and until the server answers. */
export function useReloadNewest<Page extends { next_before: string | number | null }, Row>({
  queryKey,
  load,
  loadOthers,
  ...paged
}: NewestOptions<Page, Row>): () => void {
  type Data = InfiniteData<Page> | undefined
  const read = async () => {
    const newestKey = [...queryKey, 'newest']
    const page = await queries.fetchQuery({ queryKey: newestKey, queryFn: load, staleTime: 0, ...untilAnswered })
    queries.setQueryData(queryKey, (data: Data) => withNewest(data, page, paged))
    const others = (await loadOthers?.(page)) ?? []
    queries.setQueryData(queryKey, (data: Data) => withRead(data, others, paged))
  }
  const reload = () => readAgain(hashKey(queryKey), read)
  return useThrottled(() => void reload().catch(() => {}), EVERY_MS) // a refusal is said by the list itself
}
