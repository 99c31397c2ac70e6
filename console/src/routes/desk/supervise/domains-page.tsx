// The domains that the owner of this deployment may automate.
import type { DeskDomain } from '@reeve/sdk'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Page } from '../../../frame/page.tsx'
import { Confirm } from '../../../parts/feedback/confirm.tsx'
import { Empty } from '../../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { Field, Form } from '../../../parts/controls/form.tsx'
import { notify } from '../../../parts/feedback/notify.ts'
import { Table, type Column } from '../../../parts/data/table.tsx'
import { Time } from '../../../parts/data/time.tsx'
import { client } from '../../../session/client.ts'
import { isolated } from '../../../parts/text/isolated.ts'

const PAGE_ROWS = 200

export function DomainsPage() {
  const [removed, setRemoved] = useState<DeskDomain | null>(null)
  const domains = useInfiniteQuery({
    queryKey: ['desk', 'domains'],
    queryFn: ({ pageParam }) =>
      client.desk.domains({ limit: PAGE_ROWS, ...(pageParam === null ? {} : { after: pageParam }) }),
    initialPageParam: null,
    getNextPageParam: ({ next_after: next }: { next_after: string | null }): string | null => next,
    staleTime: 0,
  })
  return (
    <Page
      title="Allowed domains"
      crumbs={[
        { label: 'Desk', to: '/console/desk' },
        { label: 'Supervise', to: '/console/desk/supervise' },
      ]}
      fills
    >
      <NewDomain onAllowed={() => void domains.refetch()} />
      <p className="mb-2 text-quiet">Open a row to remove its domain.</p>
      {domains.isError && (
        <ErrorBox
          title="The domains could not be loaded"
          error={domains.error}
          onRetry={() => void domains.refetch()}
        />
      )}
      <Table<DeskDomain>
        label="Allowed domains"
        className="min-h-60 flex-1"
        rows={domains.data?.pages.flatMap((page) => page.domains) ?? []}
        columns={COLUMNS}
        onOpen={setRemoved}
        rowKey={({ domain }) => domain}
        isLoading={domains.isPending}
        hasMore={domains.hasNextPage}
        onEnd={() => void (domains.isFetching ? undefined : domains.fetchNextPage())}
        empty={<Empty title="No domain is allowed yet">Tasks of a domain are refused until it is listed here.</Empty>}
      />
      <Confirm
        isOpen={removed !== null}
        onClose={() => setRemoved(null)}
        title={`Remove ${isolated(removed?.domain ?? '')}?`}
        action="Remove it"
        isDangerous
        onConfirm={async () => {
          await client.desk.removeDomain(removed?.domain ?? '')
          await domains.refetch()
        }}
      >
        <p>New tasks of it are refused, and its pages are not fetched any more. Open tasks stay.</p>
      </Confirm>
    </Page>
  )
}

function NewDomain({ onAllowed }: { onAllowed(): void }) {
  const [times, setTimes] = useState(0)
  return (
    <Form
      key={times}
      action="Allow"
      className="mb-4 max-w-xl"
      onSubmit={async (values) => {
        const { domain } = await client.desk.allowDomain(values.text('domain'), values.text('reason'))
        notify({ title: `${isolated(domain)} is allowed` })
        setTimes(times + 1)
        onAllowed()
      }}
    >
      <Field name="domain" label="Domain" required placeholder="shop.org, or *.shop.org" autoComplete="off" />
      <Field name="reason" label="Why may it be automated?" required autoComplete="off" />
    </Form>
  )
}

const COLUMNS: readonly Column<DeskDomain>[] = [
  { head: 'Domain', width: 'minmax(140px, 1fr)', cell: ({ domain }) => <span dir="auto">{domain}</span> },
  { head: 'Why', width: 'minmax(140px, 2fr)', wideOnly: true, cell: ({ reason }) => <span dir="auto">{reason}</span> },
  { head: 'By', width: '120px', wideOnly: true, cell: ({ added_by: name }) => <span dir="auto">{name}</span> },
  {
    head: 'Since',
    width: '120px',
    align: 'right',
    wideOnly: true,
    cell: ({ added_at: at }) => <Time at={at} inList />,
  },
]
