// A query that is read again when something has happened. No answer is given up for the next one: on a slow connection, none would come.
import { hashKey, type QueryKey } from '@tanstack/react-query'
import { queries } from '../session/client.ts'
import { readAgain } from './read-again.ts'
import { useThrottled } from './throttle.ts'

interface Reloaded {
  queryKey: QueryKey
  refetch: (options: { cancelRefetch: false }) => Promise<unknown>
  /** At most so often. */
  everyMs: number
}

export function useReload({ queryKey, refetch, everyMs }: Reloaded): () => void {
  const read = async () => {
    // What somebody else is reading may be older than what happened now.
    if (queries.isFetching({ queryKey, exact: true }) > 0) await refetch({ cancelRefetch: false })
    await refetch({ cancelRefetch: false })
  }
  return useThrottled(() => void readAgain(hashKey(queryKey), read), everyMs)
}
