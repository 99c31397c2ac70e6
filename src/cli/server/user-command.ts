// `reeve user`: accounts, through the routes of an admin.
import type { Account, ReeveClient } from '@reeve/sdk'
import type { Command } from 'commander'
import { isRole, ROLES, type Role } from '../../core/identity/role.ts'
import { newPassword } from '../../core/random.ts'
import { addRemoteOptions, withClient, type RemoteOptions } from '../access/client.ts'
import { everyRow, pageOf } from '../access/every-row.ts'
import { CommandFailed } from '../failure.ts'
import { readInput, readText } from '../read-input.ts'
import { plain, print, printJson, printTable, say } from '../terminal.ts'

const PAGE = 500

export function addUserCommands(program: Command): void {
  const user = program.command('user').description('manage accounts, roles and passwords')
  const command = (name: string, about: string) => addRemoteOptions(user.command(name).description(about))
  const roles = ROLES.join(', ')

  command('add', 'create an account; prints a random password unless --password-stdin is given')
    .argument('<username>')
    .option('--role <role...>', `one or more of ${roles}`, [])
    .option('--password-stdin', 'read the password from standard input')
    .action(addUser)
  command('list', 'list all accounts').action(listUsers)
  command('role', 'replace the roles of an account')
    .argument('<username>')
    .argument('[role...]', `any of ${roles}; none removes all but PLAYER`)
    .action(setRoles)
  command(
    'passwd',
    'set a new password and end all logins of the account; prints a random one unless --password-stdin is given',
  )
    .argument('<username>')
    .option('--password-stdin', 'read the password from standard input')
    .option(
      '--link',
      'print a link with which the owner can set a password, once, within a day; until then nothing changes',
    )
    .action(passwd)
  command('delete', 'delete an account for good; its work stays, under the name deleted-<id>')
    .argument('<username>')
    .option('--yes', 'delete it; without this option, only say what would be deleted')
    .action(deleteUser)
  command('import', 'create accounts from a CSV file with the columns username, password and roles')
    .argument(
      '<file>',
      'the CSV file, or - for standard input; for rows without a password, a link is printed with which the owner sets one',
    )
    .action(importUsers)
}

async function addUser(
  username: string,
  options: RemoteOptions & { role: string[]; passwordStdin?: boolean },
): Promise<void> {
  const roles = parseRoles(options.role)
  const { password, shown } = passwordFrom(options)
  const account = await withClient(options, (reeve) => reeve.admin.createAccount({ username, password, roles }))
  if (options.json === true) return printJson({ ...account, ...shown })
  print(`${plain(account.username)} (${account.user_id}): ${account.roles.join(', ')}`)
  if ('password' in shown) say(`Password, shown this once: ${password}`)
}

function passwordFrom({ passwordStdin }: { passwordStdin?: boolean }): {
  password: string
  shown: { password?: string }
} {
  if (passwordStdin === true) return { password: readText('-').replace(/\r?\n$/, ''), shown: {} }
  const password = newPassword()
  return { password, shown: { password } }
}

async function listUsers(options: RemoteOptions): Promise<void> {
  const accounts = await withClient(options, ({ admin }) =>
    everyRow(async (query: { after?: number }) =>
      pageOf(await admin.accounts({ limit: PAGE, ...query }), PAGE, (one) => one.user_id),
    ),
  )
  if (options.json === true) return printJson(accounts)
  printTable(
    ['ID', 'USERNAME', 'ROLES', 'STATE'],
    accounts.map((one) => [
      String(one.user_id),
      plain(one.username),
      one.roles.join(', '),
      one.is_active ? '' : 'closed',
    ]),
  )
}

async function setRoles(username: string, names: string[], options: RemoteOptions): Promise<void> {
  const roles = parseRoles(names)
  const changed = await withClient(options, async (reeve) =>
    reeve.admin.setRoles((await findUser(reeve, username)).user_id, roles),
  )
  if (options.json === true) return printJson(changed)
  print(`${plain(changed.username)}: ${changed.roles.join(', ')}`)
}

async function passwd(
  username: string,
  options: RemoteOptions & { passwordStdin?: boolean; link?: boolean },
): Promise<void> {
  if (options.link === true) {
    if (options.passwordStdin === true) throw new CommandFailed('--link and --password-stdin exclude each other.', 2)
    const link = await withClient(options, async (reeve) =>
      reeve.admin.createPasswordLink((await findUser(reeve, username)).user_id),
    )
    if (options.json === true) return printJson(link)
    return print(plain(link.url))
  }
  const { password, shown } = passwordFrom(options)
  const account = await withClient(options, async (reeve) => {
    const found = await findUser(reeve, username)
    await reeve.admin.resetPassword(found.user_id, password)
    return found
  })
  if (options.json === true) return printJson({ user_id: account.user_id, username: account.username, ...shown })
  print(`${plain(account.username)} has a new password, and its logins have ended.`)
  if ('password' in shown) say(`Password, shown this once: ${password}`)
}

async function deleteUser(username: string, options: RemoteOptions & { yes?: boolean }): Promise<void> {
  const account = await withClient(options, async (reeve) => {
    const found = await findUser(reeve, username)
    if (options.yes === true) await reeve.admin.deleteAccount(found.user_id)
    return found
  })
  const { user_id: id, username: name, roles } = account
  if (options.yes !== true) {
    throw new CommandFailed(`This would delete ${plain(name)} (${id}): ${roles.join(', ')}. Add --yes.`, 2)
  }
  if (options.json === true) return printJson({ user_id: id, username: name })
  print(`${plain(name)} is deleted. What it did is shown under the name deleted-${id}.`)
}

async function importUsers(file: string, options: RemoteOptions): Promise<void> {
  const rows = await withClient(options, (reeve) => reeve.admin.importAccounts(new Uint8Array(readInput(file))))
  if (options.json === true) printJson(rows)
  else {
    printTable(
      ['ROW', 'USERNAME', 'STATUS', ''],
      rows.map((one) =>
        [String(one.row), one.username, one.status, one.reason ?? one.password_link?.url ?? ''].map(plain),
      ),
    )
  }
  if (rows.some(({ status }) => status === 'refused')) throw new CommandFailed('Not every row was imported.')
}

/** Names are compared as the server compares them: it finds them by how they begin. */
async function findUser(reeve: ReeveClient, username: string): Promise<Account> {
  const fold = (name: string) => name.normalize('NFKC').toLowerCase()
  for (let after = 0; ;) {
    const page = await reeve.admin.accounts({ name: username.slice(0, 120), after, limit: PAGE })
    const found = page.find((account) => fold(account.username) === fold(username))
    if (found !== undefined) return found
    if (page.length < PAGE) throw new CommandFailed(`There is no account "${plain(username)}".`)
    after = page.at(-1)?.user_id ?? 0
  }
}

function parseRoles(names: readonly string[]): Role[] {
  return names.map((name) => {
    const role = name.toUpperCase()
    if (!isRole(role)) throw new CommandFailed(`Unknown role "${plain(name)}": expected ${ROLES.join(', ')}.`, 2)
    return role
  })
}
