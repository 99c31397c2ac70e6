// What have I submitted, and what became of it?
import type { JudgeVerdict, SubmissionLine } from '@reeve/sdk'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { Page } from '../../../frame/page.tsx'
import { useLive } from '../../../live/live.ts'
import { useReloadNewest } from '../../../live/newest.ts'
import { buttonClass } from '../../../parts/controls/button.tsx'
import { Empty } from '../../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { inputClass } from '../../../parts/controls/form.tsx'
import { StateBadge } from '../../../parts/data/state-badge.tsx'
import { Table, type Column } from '../../../parts/data/table.tsx'
import { Time } from '../../../parts/data/time.tsx'
import { client } from '../../../session/client.ts'
import { problemOf, untilAnswered } from '../../../session/errors.ts'
import { useSession } from '../../../session/session.tsx'
import { submissionsRoute, type SubmissionsSearch } from '../routes.ts'
import { languageName, memory, milliseconds, stateOf, VERDICTS } from './verdicts.ts'

const CRUMBS = [{ label: 'Judge', to: '/console/judge' }]
const PAGE = 100
const IN_SIGHT_MAX = 200

const isVerdict = (text: string | undefined): text is JudgeVerdict =>
  text !== undefined && Object.hasOwn(VERDICTS, text)

export function SubmissionsPage() {
  const search = submissionsRoute.useSearch()
  const navigate = useNavigate()
  const { found, reload } = useSubmissions(search)
  const rows = found.data?.pages.flatMap(({ submissions }) => submissions) ?? []
  useLive({
    topic: 'submissions',
    params: {
      job_ids: rows.slice(0, IN_SIGHT_MAX).map(({ job_id: id }) => id),
      ...(search.all === true ? { all: true } : {}),
    },
    enabled: found.isSuccess && !found.isFetching,
    onMessage: ({ type }) => type !== 'following' && reload(),
  })
  return (
    <Page title="Submissions" crumbs={CRUMBS} fills actions={<Filters search={search} />}>
      {problemOf(found) !== null ? (
        <ErrorBox
          title="The submissions could not be loaded"
          error={problemOf(found)}
          onRetry={() => void found.refetch()}
        />
      ) : (
        <Table
          label="Submissions"
          className="flex-1"
          rows={rows}
          columns={search.all === true ? [...COLUMNS, ACCOUNT] : COLUMNS}
          rowKey={({ job_id: id }) => id}
          onOpen={({ job_id: job }) => void navigate({ to: '/console/judge/submissions/$job', params: { job } })}
          isLoading={found.isPending || found.isFetchingNextPage}
          hasMore={found.hasNextPage}
          onEnd={() => void (found.isFetching ? undefined : found.fetchNextPage())}
          place="judge submissions"
          empty={<Empty title="No submissions">Open a problem and submit a program.</Empty>}
        />
      )}
    </Page>
  )
}

function useSubmissions({ problem, verdict, all }: SubmissionsSearch) {
  const queryKey = ['judge', 'submissions', problem, verdict, all]
  const load = (limit: number, before: string) =>
    client.judge.submissions({
      limit,
      ...(problem === undefined ? {} : { problem_id: problem }),
      ...(isVerdict(verdict) ? { verdict } : {}),
      ...(before === '' ? {} : { before }),
      ...(all === true ? { all } : {}),
    })
  const found = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => load(PAGE, pageParam),
    initialPageParam: '',
    getNextPageParam: ({ next_before: before }) => before,
    staleTime: 0,
    ...untilAnswered,
  })
  const reload = useReloadNewest({
    queryKey,
    load: () => load(IN_SIGHT_MAX, ''),
    rowsOf: ({ submissions }) => submissions,
    withRows: (page, submissions) => ({ ...page, submissions }),
    keyOf: ({ job_id: id }) => id,
  })
  return { found, reload }
}

function Filters({ search }: { search: SubmissionsSearch }) {
  const session = useSession()
  const navigate = useNavigate()
  const go = (next: SubmissionsSearch) => void navigate({ to: '/console/judge/submissions', search: next })
  const { problem, verdict: _verdict, ...rest } = search
  return (
    <>
      {problem !== undefined && (
        <Link to="/console/judge/problems/$problem" params={{ problem }} className={buttonClass()}>
          Back to <bdi>{problem}</bdi>
        </Link>
      )}
      <label>
        <span className="sr-only">Verdict</span>
        <select
          value={search.verdict ?? ''}
          onChange={({ currentTarget: { value } }) =>
            go({ ...rest, ...(problem === undefined ? {} : { problem }), ...(value === '' ? {} : { verdict: value }) })
          }
          className={`${inputClass} w-auto`}
        >
          <option value="">All verdicts</option>
          {Object.entries(VERDICTS).map(([code, { word }]) => (
            <option key={code} value={code}>
              {word}
            </option>
          ))}
        </select>
      </label>
      {session.has('ADMIN') && (
        <label className="inline-flex items-center gap-2">
          <input
            type="checkbox"
            className="size-4 accent-(--accent)"
            checked={search.all === true}
            onChange={({ currentTarget: { checked } }) => {
              const { all: _all, ...others } = search
              go(checked ? { ...others, all: true } : others)
            }}
          />
          Everybody’s
        </label>
      )}
    </>
  )
}

const COLUMNS: readonly Column<SubmissionLine>[] = [
  { head: 'Verdict', width: '208px', cell: (line) => <StateBadge {...stateOf(line)} /> },
  {
    head: 'Problem',
    width: 'minmax(96px, 2fr)',
    cell: ({ problem_id: id, rejudge_of: old }) => (
      <span className="truncate">
        {id}
        {old !== null && <span className="text-quiet"> · judged again</span>}
      </span>
    ),
  },
  { head: 'Language', width: '96px', wideOnly: true, cell: ({ language }) => languageName(language) },
  { head: 'Points', width: '72px', align: 'right', roomyOnly: true, cell: ({ score }) => score ?? '' },
  {
    head: 'Time',
    width: '80px',
    align: 'right',
    wideOnly: true,
    cell: ({ time_ms: ms }) => (ms === null ? '' : milliseconds(ms)),
  },
  {
    head: 'Memory',
    width: '88px',
    align: 'right',
    roomyOnly: true,
    cell: ({ mem_kb: kb }) => (kb === null ? '' : memory(kb)),
  },
  {
    head: 'Submitted',
    width: '112px',
    align: 'right',
    wideOnly: true,
    cell: ({ submitted_at: at }) => <Time at={at} inList />,
  },
]

const ACCOUNT: Column<SubmissionLine> = {
  head: 'Account',
  width: '80px',
  align: 'right',
  wideOnly: true,
  cell: ({ account_id: id }) => id,
}
