import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { isRole, ROLES, type Role } from '../../core/identity/role.ts'
import { newPassword } from '../../core/random.ts'
import { CommandFailed } from '../failure.ts'
import { print, printJson, printTable, say } from '../terminal.ts'
import { withEngine } from '../with-engine.ts'

const PAGE = 500

export function addUserCommands(program: Command): void {
  const user = program.command('user').description('accounts and their roles')
  const roles = `${ROLES.join(', ')}`

  user
    .command('add')
    .description('create an account; without --password-stdin a random password is printed')
    .argument('<username>')
    .option('--role <role...>', `one or more of ${roles}`, [])
    .option('--password-stdin', 'read the password from standard input')
    .option('--json', 'for programs')
    .action(addUser)

  user.command('list').description('all accounts').option('--json', 'for programs').action(listUsers)

  user
    .command('role')
    .description(`set the roles of an account (${roles})`)
    .argument('<username>')
    .argument('[role...]')
    .option('--json', 'for programs')
    .action(setRoles)
}

async function addUser(
  username: string,
  options: { role: string[]; passwordStdin?: boolean; json?: boolean },
): Promise<void> {
  const roles = parseRoles(options.role)
  const given = options.passwordStdin === true ? readFileSync(0, 'utf8').replace(/\r?\n$/, '') : null
  const password = given ?? newPassword()

  const answer = await withEngine(({ identity }) => identity.register({ username, password, roles }))
  if (!answer.ok) throw new CommandFailed(REGISTER_REFUSALS[answer.code])
  const { account } = answer
  const shown = given === null ? { password } : {}
  if (options.json === true) return printJson({ ...account, ...shown })
  print(`${account.username} (${account.accountId}): ${account.roles.join(', ')}`)
  if (given === null) say(`Password, shown this once: ${password}`)
}

const REGISTER_REFUSALS = {
  invalid_username: 'A username has 1 to 120 visible characters, with no space at either end.',
  invalid_password: 'A password has 8 to 1024 characters.',
  duplicate_user: 'There is an account of that name already.',
} as const

async function listUsers(options: { json?: boolean }): Promise<void> {
  const accounts = await withEngine(async ({ identity }) => {
    const all = []
    let page = await identity.listAccounts({ after: 0, limit: PAGE })
    while (page.length > 0) {
      all.push(...page)
      page = await identity.listAccounts({ after: page.at(-1)?.accountId ?? 0, limit: PAGE })
    }
    return all
  })
  if (options.json === true) return printJson(accounts)
  printTable(
    ['ID', 'USERNAME', 'ROLES'],
    accounts.map((account) => [String(account.accountId), account.username, account.roles.join(', ')]),
  )
}

async function setRoles(username: string, names: string[], options: { json?: boolean }): Promise<void> {
  const roles = parseRoles(names)
  const changed = await withEngine(async ({ identity }) => {
    const account = await identity.findAccount(username)
    return account === null ? null : identity.setRoles({ accountId: account.accountId }, roles)
  })
  if (changed === null) throw new CommandFailed(`There is no account "${username}".`)
  if (!changed.ok) throw new CommandFailed(`The roles of "${username}" were not changed: ${changed.code}.`)
  if (options.json === true) return printJson(changed.account)
  print(`${changed.account.username}: ${changed.account.roles.join(', ')}`)
}

function parseRoles(names: readonly string[]): Role[] {
  return names.map((name) => {
    const role = name.toUpperCase()
    if (!isRole(role)) throw new CommandFailed(`Unknown role "${name}": expected ${ROLES.join(', ')}.`, 2)
    return role
  })
}
