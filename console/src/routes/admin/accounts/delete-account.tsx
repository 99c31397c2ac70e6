import type { Account } from '@reeve/sdk'
import { Confirm } from '../../../parts/feedback/confirm.tsx'
import { notify } from '../../../parts/feedback/notify.ts'
import { client } from '../../../session/client.ts'
import { isolated } from '../../../parts/text/isolated.ts'

interface DeleteAccountProps {
  account: Account
  onClose: () => void
  onDeleted: () => void
}

export function DeleteAccount({ account: { user_id: id, username }, onClose, onDeleted }: DeleteAccountProps) {
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={`Delete the account ${isolated(username)}?`}
      action="Delete the account"
      isDangerous
      onConfirm={async () => {
        await client.admin.deleteAccount(id)
        notify({ title: `${isolated(username)} is deleted` })
        onDeleted()
      }}
    >
      <p>
        This cannot be undone. Its logins and API keys are gone, and its name is free. What it did stays, and is shown
        as deleted-{id}. To keep the account for later, close it.
      </p>
    </Confirm>
  )
}
