import type { Challenge } from '@reeve/sdk'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Page } from '../../frame/page.tsx'
import { Button, buttonClass } from '../../parts/controls/button.tsx'
import { shortId } from '../../parts/controls/copy.tsx'
import { Empty } from '../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../parts/feedback/error-box.tsx'
import { StateBadge } from '../../parts/data/state-badge.tsx'
import { Table, type Column } from '../../parts/data/table.tsx'
import { Time } from '../../parts/data/time.tsx'
import { useSession } from '../../session/session.tsx'
import { useChallengeList } from './challenge-list.ts'
import { NewChallengeDialog } from './new-challenge.tsx'
import { CHALLENGE_STATES, problemOf } from './words.ts'

export function ChallengesPage() {
  const navigate = useNavigate()
  const { has } = useSession()
  const list = useChallengeList()
  const [isNew, setNew] = useState(false)
  const create = (
    <Button look="main" icon="plus" onClick={() => setNew(true)}>
      New challenge
    </Button>
  )
  return (
    <Page
      title="Challenges"
      fills
      actions={
        <>
          {has('ADMIN') && (
            <Link to="/console/challenges/deliveries" className={buttonClass()}>
              Deliveries
            </Link>
          )}
          <Link to="/console/signature" className={buttonClass()}>
            Check a signature
          </Link>
          {create}
        </>
      }
    >
      {list.problem !== null && (
        <ErrorBox title="The challenges could not be loaded" error={list.problem} onRetry={() => void list.refetch()} />
      )}
      <Table
        label="Challenges"
        className="flex-1"
        rows={list.challenges}
        columns={COLUMNS}
        rowKey={({ challenge_id: id }) => id}
        onOpen={({ challenge_id: challengeId }) =>
          void navigate({ to: '/console/challenges/$challengeId', params: { challengeId } })
        }
        isLoading={list.isPending || list.isFetchingNextPage}
        hasMore={list.hasNextPage}
        onEnd={() => void (list.isFetching ? undefined : list.fetchNextPage())}
        place="challenges"
        empty={
          <Empty title="No challenges yet">
            A challenge is a problem whose answer you know. It is sent to a Solver, and what the Solver answers is
            checked here.
          </Empty>
        }
      />
      <NewChallengeDialog isOpen={isNew} onClose={() => setNew(false)} />
    </Page>
  )
}

const COLUMNS: readonly Column<Challenge>[] = [
  {
    head: 'Challenge',
    width: 'minmax(96px, 1fr)',
    cell: ({ challenge_id: challengeId }) => (
      <Link
        to="/console/challenges/$challengeId"
        params={{ challengeId }}
        tabIndex={-1}
        className="font-mono text-[13px] hover:underline"
        title={challengeId}
      >
        {shortName(challengeId)}
      </Link>
    ),
  },
  { head: 'State', width: '148px', cell: ({ state }) => <StateBadge {...CHALLENGE_STATES[state]} /> },
  {
    head: 'Problem',
    width: 'minmax(120px, 2fr)',
    wideOnly: true,
    cell: (challenge) => {
      const { type, text } = problemOf(challenge)
      return (
        <span dir="auto" title={text}>
          <span className="text-quiet">{type}</span> {text}
        </span>
      )
    },
  },
  {
    head: 'Sent',
    width: '104px',
    align: 'right',
    wideOnly: true,
    cell: ({ sent_at: at }) => <Time at={at} inList />,
  },
  { head: 'Created', width: '104px', align: 'right', cell: ({ created_at: at }) => <Time at={at} inList /> },
]

const GENERATED = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** A name that somebody chose is shown whole. */
const shortName = (challengeId: string): string => (GENERATED.test(challengeId) ? shortId(challengeId) : challengeId)
