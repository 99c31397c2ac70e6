// Deliveries of a status: pages as one scrolls, the changes of those in sight, and dead letters as they come.
import type { Delivery, LiveMessage } from '@reeve/sdk'
import { useInfiniteQuery, type InfiniteData } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useLive } from '../../../live/live.ts'
import { client, queries } from '../../../session/client.ts'
import { problemOf, untilAnswered } from '../../../session/errors.ts'

const PAGE = 100
const IN_SIGHT_MAX = 200
const FIRST: number | null = null

type Pages = InfiniteData<Delivery[], number | null>

export function useDeliveryList(status: Delivery['status']) {
  const queryKey = ['deliveries', 'list', status]
  const list = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) =>
      client.deliveries.list({ status, limit: PAGE, ...(pageParam === null ? {} : { before: pageParam }) }),
    initialPageParam: FIRST,
    getNextPageParam: (page) => (page.length < PAGE ? null : (page.at(-1)?.delivery_id ?? null)),
    refetchOnMount: 'always',
    ...untilAnswered,
  })
  const deliveries = useMemo(() => list.data?.pages.flat() ?? [], [list.data])
  const onMessage = ({ type, payload }: LiveMessage) => {
    if (type === 'changed') queries.setQueryData<Pages>(queryKey, (pages) => withChanged(pages, payload))
    const newest = type === 'newest_dead' ? idOf(payload) : null
    const isNew = newest !== null && !deliveries.some(({ delivery_id: id }) => id === newest)
    if (status === 'dead' && isNew) void queries.invalidateQueries({ queryKey })
  }
  useLive({
    topic: 'deliveries',
    params: { delivery_ids: deliveries.slice(0, IN_SIGHT_MAX).map(({ delivery_id: id }) => id) },
    enabled: list.isSuccess && !list.isFetching,
    onMessage,
  })
  return { ...list, deliveries, problem: problemOf(list) }
}

function withChanged(pages: Pages | undefined, payload: unknown): Pages | undefined {
  if (pages === undefined) return pages
  const changed = new Map(changesOf(payload).map((change) => [change.delivery_id, change]))
  return {
    ...pages,
    pages: pages.pages.map((page) => page.map((one) => ({ ...one, ...changed.get(one.delivery_id) }))),
  }
}

const changesOf = (payload: unknown): { delivery_id: number }[] =>
  typeof payload === 'object' && payload !== null && 'deliveries' in payload && Array.isArray(payload.deliveries)
    ? payload.deliveries
    : []

const idOf = (payload: unknown): number | null =>
  typeof payload === 'object' && payload !== null && 'delivery_id' in payload && typeof payload.delivery_id === 'number'
    ? payload.delivery_id
    : null
