import type { AccountLogin } from '@reeve/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../../parts/controls/button.tsx'
import { Confirm } from '../../parts/feedback/confirm.tsx'
import { ErrorBox } from '../../parts/feedback/error-box.tsx'
import { Skeleton } from '../../parts/feedback/skeleton.tsx'
import { StateBadge } from '../../parts/data/state-badge.tsx'
import { Time } from '../../parts/data/time.tsx'
import { client } from '../../session/client.ts'

export function Logins() {
  const [ending, setEnding] = useState<AccountLogin | null>(null)
  const logins = useQuery({ queryKey: ['account', 'logins'], queryFn: () => client.account.logins(), staleTime: 0 })
  return (
    <section aria-labelledby="logins">
      <h2 id="logins" className="mb-2 text-lead font-semibold">
        Logins
      </h2>
      {logins.isPending && <Skeleton lines={2} />}
      {logins.isError && (
        <ErrorBox title="The logins could not be loaded" error={logins.error} onRetry={() => void logins.refetch()} />
      )}
      <ul className="divide-y divide-line border-y border-line empty:hidden">
        {logins.data?.map((login) => (
          <Login key={login.id} login={login} onEnd={() => setEnding(login)} />
        ))}
      </ul>
      <Confirm
        isOpen={ending !== null}
        onClose={() => setEnding(null)}
        title="End this login?"
        action="End the login"
        isDangerous
        onConfirm={async () => {
          if (ending !== null) await client.account.revokeLogin(ending.id)
          await logins.refetch()
        }}
      >
        <p>Whoever uses it is signed out. Nothing else changes.</p>
      </Confirm>
    </section>
  )
}

function Login({ login, onEnd }: { login: AccountLogin; onEnd: () => void }) {
  const { address, user_agent: agent, created_at: since, expires_at: until, current } = login
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 py-2.5">
      <div className="min-w-0 flex-1 basis-64">
        <p className="truncate" dir="auto" title={agent}>
          {agent === '' ? 'Unknown program' : agent}
        </p>
        <p className="flex flex-wrap gap-x-3 text-small text-quiet">
          <span>from {address === '' ? 'an unknown address' : address}</span>
          <span>
            since <Time at={since} />
          </span>
          <span>
            ends <Time at={until} />
          </span>
        </p>
      </div>
      {current ? <StateBadge tone="good" word="This one" /> : <Button onClick={onEnd}>End</Button>}
    </li>
  )
}
