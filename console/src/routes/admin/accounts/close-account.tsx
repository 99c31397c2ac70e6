import type { Account } from '@reeve/sdk'
import { Confirm } from '../../../parts/feedback/confirm.tsx'
import { notify } from '../../../parts/feedback/notify.ts'
import { client } from '../../../session/client.ts'
import { isolated } from '../../../parts/text/isolated.ts'

interface CloseAccountProps {
  account: Account
  onClose: () => void
  onChanged: () => void
}

export function CloseAccount({ account: { user_id: id, username }, onClose, onChanged }: CloseAccountProps) {
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={`Close the account ${isolated(username)}?`}
      action="Close the account"
      isDangerous
      onConfirm={async () => {
        await client.admin.setActive(id, false)
        notify({ title: `${isolated(username)} is closed` })
        onChanged()
      }}
    >
      <p>
        All its logins end and its API keys are revoked. Its jobs and results stay. It can be reopened, but logins and
        keys do not come back.
      </p>
    </Confirm>
  )
}
