import type { ApiKey } from '@reeve/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { roleWord } from '../../frame/account-button.tsx'
import { Button } from '../../parts/controls/button.tsx'
import { Confirm } from '../../parts/feedback/confirm.tsx'
import { ErrorBox } from '../../parts/feedback/error-box.tsx'
import { Skeleton } from '../../parts/feedback/skeleton.tsx'
import { Time } from '../../parts/data/time.tsx'
import { client } from '../../session/client.ts'
import { NewApiKeyDialog } from './new-api-key.tsx'
import { isolated } from '../../parts/text/isolated.ts'

export function ApiKeys() {
  const [isNew, setNew] = useState(false)
  const [revoking, setRevoking] = useState<ApiKey | null>(null)
  const keys = useQuery({ queryKey: ['account', 'keys'], queryFn: () => client.account.apiKeys(), staleTime: 0 })
  return (
    <section aria-labelledby="keys">
      <div className="mb-2 flex flex-wrap items-center gap-3">
        <h2 id="keys" className="flex-1 text-lead font-semibold">
          API keys
        </h2>
        <Button icon="plus" onClick={() => setNew(true)}>
          New key
        </Button>
      </div>
      {keys.isPending && <Skeleton lines={2} />}
      {keys.isError && (
        <ErrorBox title="The keys could not be loaded" error={keys.error} onRetry={() => void keys.refetch()} />
      )}
      {keys.data?.length === 0 && (
        <p className="text-quiet">None yet. A key lets a program use this account without its password.</p>
      )}
      <ul className="divide-y divide-line border-y border-line empty:hidden">
        {keys.data?.map((key) => (
          <Key key={key.id} apiKey={key} onRevoke={() => setRevoking(key)} />
        ))}
      </ul>
      {isNew && <NewApiKeyDialog onClose={() => setNew(false)} onCreated={() => void keys.refetch()} />}
      <Confirm
        isOpen={revoking !== null}
        onClose={() => setRevoking(null)}
        title={`Revoke the key ${isolated(revoking?.name ?? '')}?`}
        action="Revoke the key"
        isDangerous
        onConfirm={async () => {
          if (revoking !== null) await client.account.revokeApiKey(revoking.id)
          await keys.refetch()
        }}
      >
        <p>Programs that use it are refused from now on. It cannot be undone.</p>
      </Confirm>
    </section>
  )
}

function Key({ apiKey, onRevoke }: { apiKey: ApiKey; onRevoke: () => void }) {
  const { name, scopes, expires_at: expires, last_used_at: used } = apiKey
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 py-2.5">
      <div className="min-w-0 flex-1 basis-64">
        <p className="truncate font-medium" dir="auto" title={name}>
          {name}
        </p>
        <p className="flex flex-wrap gap-x-3 text-small text-quiet">
          <span>{scopes === null ? 'all roles of the account' : scopes.map(roleWord).join(', ')}</span>
          <span>{expires === null ? 'does not expire' : <>expires {<Time at={expires} />}</>}</span>
          <span>{used === null ? 'never used' : <>last used {<Time at={used} />}</>}</span>
        </p>
      </div>
      <Button onClick={onRevoke} aria-label={`Revoke ${isolated(name)}`}>
        Revoke
      </Button>
    </li>
  )
}
