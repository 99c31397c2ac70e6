// The account's challenges: pages as one scrolls, and the changes of those in sight.
import type { Challenge, ChallengePage } from '@reeve/sdk'
import { useInfiniteQuery, useIsFetching, type InfiniteData } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useLive } from '../../live/live.ts'
import { useReloadNewest } from '../../live/newest.ts'
import { client, queries } from '../../session/client.ts'
import { problemOf, untilAnswered } from '../../session/errors.ts'

const PAGE = 100
const IN_SIGHT_MAX = 200
const FIRST: number | null = null

export const CHALLENGES = ['challenges', 'list'] as const

type Pages = InfiniteData<ChallengePage, number | null>

export function useChallengeList() {
  const list = useInfiniteQuery({
    queryKey: CHALLENGES,
    queryFn: ({ pageParam }) =>
      client.challenges.list({ limit: PAGE, ...(pageParam === null ? {} : { before: pageParam }) }),
    initialPageParam: FIRST,
    getNextPageParam: (page) => page.next_before,
    refetchOnMount: 'always',
    ...untilAnswered,
  })
  const reload = useReloadNewest({
    queryKey: CHALLENGES,
    load: () => client.challenges.list({ limit: PAGE }),
    rowsOf: (page) => page.challenges,
    withRows: (page, rows) => ({ ...page, challenges: rows }),
    keyOf: ({ challenge_id: id }) => id,
  })
  const challenges = useMemo(() => list.data?.pages.flatMap((page) => page.challenges) ?? [], [list.data])
  const answersUnderWay = useIsFetching({ queryKey: CHALLENGES }) // of the list, and of its newest rows
  useLive({
    topic: 'challenges',
    params: { challenge_ids: challenges.slice(0, IN_SIGHT_MAX).map(({ challenge_id: id }) => id) },
    enabled: list.isSuccess && answersUnderWay === 0,
    onMessage: ({ type, payload }) => {
      if (type === 'changed') queries.setQueryData<Pages>(CHALLENGES, (pages) => withChanged(pages, payload))
      if (type === 'newest' && !isKnown(challenges, payload)) reload()
    },
  })
  return { ...list, challenges, problem: problemOf(list) }
}

function withChanged(pages: Pages | undefined, payload: unknown): Pages | undefined {
  if (pages === undefined) return pages
  const changed = new Map(changesOf(payload).map((change) => [change.challenge_id, change]))
  const update = (page: ChallengePage): ChallengePage => ({
    ...page,
    challenges: page.challenges.map((one) => ({ ...one, ...changed.get(one.challenge_id) })),
  })
  return { ...pages, pages: pages.pages.map(update) }
}

const isKnown = (challenges: readonly Challenge[], payload: unknown): boolean =>
  typeof payload === 'object' &&
  payload !== null &&
  'challenge_id' in payload &&
  challenges.some(({ challenge_id: id }) => id === payload.challenge_id)

const changesOf = (payload: unknown): { challenge_id: string }[] =>
  typeof payload === 'object' && payload !== null && 'challenges' in payload && Array.isArray(payload.challenges)
    ? payload.challenges
    : []
