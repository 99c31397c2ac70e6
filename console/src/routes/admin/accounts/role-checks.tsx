import type { Role } from '@reeve/sdk'
import { roleWord } from '../../../frame/account-button.tsx'
import { Check, type FormValues } from '../../../parts/controls/form.tsx'

/** Every account is a player. */
const GIVEN: readonly { role: Role; about: string }[] = [
  { role: 'CLIENT', about: 'submits work to the pool' },
  { role: 'WORKER_OWNER', about: 'runs workers of the pool' },
  { role: 'OPERATOR', about: 'works at the desk' },
  { role: 'SCRAPER', about: 'creates tasks of the desk' },
  { role: 'CHALLENGER', about: 'sends challenges' },
  { role: 'ADMIN', about: 'may do everything here' },
]

export function RoleChecks({ roles = [] }: { roles?: readonly Role[] }) {
  return (
    <fieldset className="grid gap-x-4 sm:grid-cols-2">
      <legend className="mb-1 font-medium">Roles</legend>
      {GIVEN.map(({ role, about }) => (
        <Check
          key={role}
          name="roles"
          value={role}
          label={`${roleWord(role)}: ${about}`}
          defaultChecked={roles.includes(role)}
        />
      ))}
    </fieldset>
  )
}

export const rolesIn = (values: FormValues): Role[] => {
  const chosen = values.all('roles')
  return GIVEN.map(({ role }) => role).filter((role) => chosen.includes(role))
}
