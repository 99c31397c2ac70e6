import type { Account } from '@reeve/sdk'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useCallback, useState } from 'react'
import { roleWord } from '../../../frame/account-button.tsx'
import { Page } from '../../../frame/page.tsx'
import { Button } from '../../../parts/controls/button.tsx'
import { Empty } from '../../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { Search } from '../../../parts/controls/search.tsx'
import { StateBadge } from '../../../parts/data/state-badge.tsx'
import { Table, type Column } from '../../../parts/data/table.tsx'
import { Time } from '../../../parts/data/time.tsx'
import { client } from '../../../session/client.ts'
import { AdminTabs } from '../tabs.tsx'
import { AccountDialog } from './account-dialog.tsx'
import { CloseAccount } from './close-account.tsx'
import { DeleteAccount } from './delete-account.tsx'
import { ImportAccounts } from './import-accounts.tsx'
import { NewAccountDialog } from './new-account.tsx'

const PAGE_ROWS = 200
const route = getRouteApi('/console/admin')

type Shown = { dialog: 'new' | 'import' } | { dialog: 'account' | 'close' | 'delete'; account: Account }

export function AccountsPage() {
  const { name = '' } = route.useSearch()
  const navigate = useNavigate()
  const [shown, setShown] = useState<Shown | null>(null)
  const accounts = useAccounts(name)
  const search = useCallback(
    (next: string) => void navigate({ to: '/console/admin', search: next === '' ? {} : { name: next }, replace: true }),
    [navigate],
  )
  const changed = (next: Shown | null) => {
    setShown(next)
    void accounts.refetch()
  }
  return (
    <Page title="Admin" tabTitle="Accounts" actions={<Actions onAsk={(dialog) => setShown({ dialog })} />} fills>
      <AdminTabs />
      <div className="mb-2 flex max-w-xl">
        <Search label="Find accounts" placeholder="How the name begins" value={name} onChange={search} words={[]} />
      </div>
      {accounts.isError && (
        <ErrorBox
          title="The accounts could not be loaded"
          error={accounts.error}
          onRetry={() => void accounts.refetch()}
        />
      )}
      <Table<Account>
        label="Accounts"
        className="min-h-60 flex-1"
        rows={accounts.data?.pages.flat() ?? []}
        columns={COLUMNS}
        rowKey={({ user_id: id }) => String(id)}
        onOpen={(account) => setShown({ dialog: 'account', account })}
        isLoading={accounts.isPending}
        hasMore={accounts.hasNextPage}
        onEnd={() => void (accounts.isFetching ? undefined : accounts.fetchNextPage())}
        empty={<Empty title="No account by that name">Names are compared from their beginning, in any case.</Empty>}
      />
      {shown?.dialog === 'new' && <NewAccountDialog onClose={() => setShown(null)} onCreated={() => changed(null)} />}
      {shown?.dialog === 'account' && (
        <AccountDialog
          account={shown.account}
          onClose={() => setShown(null)}
          onChanged={(account) => changed({ dialog: 'account', account })}
          onWantsClose={() => setShown({ ...shown, dialog: 'close' })}
          onWantsDelete={() => setShown({ ...shown, dialog: 'delete' })}
        />
      )}
      {shown?.dialog === 'import' && (
        <ImportAccounts onClose={() => setShown(null)} onImported={() => void accounts.refetch()} />
      )}
      {shown?.dialog === 'delete' && (
        <DeleteAccount account={shown.account} onClose={() => setShown(null)} onDeleted={() => changed(null)} />
      )}
      {shown?.dialog === 'close' && (
        <CloseAccount account={shown.account} onClose={() => setShown(null)} onChanged={() => changed(null)} />
      )}
    </Page>
  )
}

const Actions = ({ onAsk }: { onAsk: (dialog: 'new' | 'import') => void }) => (
  <>
    <Button onClick={() => onAsk('import')}>Import</Button>
    <Button look="main" icon="plus" onClick={() => onAsk('new')}>
      New account
    </Button>
  </>
)

const useAccounts = (name: string) =>
  useInfiniteQuery({
    queryKey: ['admin', 'accounts', name],
    queryFn: ({ pageParam }) =>
      client.admin.accounts({ limit: PAGE_ROWS, after: pageParam, ...(name === '' ? {} : { name }) }),
    initialPageParam: 0,
    getNextPageParam: (page: readonly Account[]): number | null =>
      page.length < PAGE_ROWS ? null : (page.at(-1)?.user_id ?? null),
    staleTime: 0,
  })

const COLUMNS: readonly Column<Account>[] = [
  { head: 'Name', width: 'minmax(120px, 1fr)', cell: ({ username }) => <span dir="auto">{username}</span> },
  {
    head: 'Roles',
    width: 'minmax(140px, 2fr)',
    wideOnly: true,
    cell: ({ roles }) => roles.map(roleWord).join(', '),
  },
  {
    head: 'State',
    width: '110px',
    cell: ({ is_active: isActive }) =>
      isActive ? <StateBadge tone="good" word="Open" /> : <StateBadge tone="quiet" word="Closed" icon="cross" />,
  },
  { head: 'Since', width: '120px', wideOnly: true, cell: ({ created_at: at }) => <Time at={at} inList /> },
]
