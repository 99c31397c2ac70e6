// What holds of every command, whichever it is.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Command } from 'commander'
import { addChallengeCommands } from '../../src/cli/challenge-command.ts'
import { addDeliveryCommands } from '../../src/cli/delivery-command.ts'
import { addDeskCommands } from '../../src/cli/desk-command.ts'
import { addJobCommands } from '../../src/cli/job-command.ts'
import { addPlayCommand } from '../../src/cli/arena/play-command.ts'
import { addProblemCommands } from '../../src/cli/judge/problem-command.ts'
import { addSubmitCommand } from '../../src/cli/judge/submit-command.ts'
import { addWorkerCommands } from '../../src/cli/pool/worker-group.ts'
import { addLoginCommand, addLogoutCommand } from '../../src/cli/server/login-command.ts'
import { addUserCommands } from '../../src/cli/server/user-command.ts'
import { addVerifyCommand } from '../../src/cli/verify/verify-command.ts'
import { temporaryFolder } from '../support/servers.ts'
import { reeve } from './reeve-command.ts'

const GROUPS = [
  addChallengeCommands,
  addDeliveryCommands,
  addDeskCommands,
  addJobCommands,
  addPlayCommand,
  addProblemCommands,
  addSubmitCommand,
  addWorkerCommands,
  addLoginCommand,
  addLogoutCommand,
  addUserCommands,
  addVerifyCommand,
]
/** Of the machine that they run on, with its database. */
const OF_SERVER = ['up', 'serve', 'work', 'migrate', 'backup', 'restore', 'move']
/** Their options are tried in remote.test.ts. */
const ASKING = ['config', 'doctor']
/** They ask no server, or are told which one in another way. */
const WITHOUT_URL = ['login', 'logout', 'problem verify', 'verify', 'verify receipt', 'worker keygen']

test('every command that asks a server has --url and --api-key-file', async () => {
  const program = new Command('reeve')
  for (const add of GROUPS) add(program)
  const help = await reeve(['--help'])
  const named = [...help.stdout.matchAll(/^ {2}([a-z]+)\b.*/gm)].map(([, name = '']) => name)
  const here = program.commands.map((command) => command.name())
  assert.deepEqual(named.filter((name) => name !== 'help').toSorted(), [...here, ...OF_SERVER, ...ASKING].toSorted())

  for (const { name, flags } of leavesOf(program, '')) {
    const isRemote = flags.includes('--url') && flags.includes('--api-key-file')
    assert.equal(isRemote, !WITHOUT_URL.includes(name), name)
  }
})

test('no command makes a database where there is none', async (t) => {
  const folder = await temporaryFolder(t)
  const env = { REEVE_DATA_DIR: join(folder, 'data'), XDG_CONFIG_HOME: join(folder, 'config'), SERVER_PORT: '1' }
  const asked = [
    ['user', 'list'],
    ['job', 'list'],
    ['problem', 'list'],
    ['delivery', 'list'],
    ['challenge', 'list'],
    ['desk', 'list'],
    ['worker', 'list'],
    ['play', '--bot', '1'],
    ['config'],
    ['migrate', '--plan'],
    ['backup', join(folder, 'backup')],
  ]

  const examined = join(folder, 'examined')
  const [ran] = await Promise.all([
    Promise.all(asked.map((args) => reeve(args, { env }))),
    reeve(['doctor'], { env: { ...env, REEVE_DATA_DIR: examined } }),
  ])

  for (const [index, { code, stderr }] of ran.entries()) {
    const name = asked[index]?.join(' ')
    assert.equal(code, name === 'config' ? 0 : 1, `${name}: ${stderr}`)
    assert.doesNotMatch(stderr, /\n +at /, name)
  }
  assert(!existsSync(env.REEVE_DATA_DIR))
  assert(!existsSync(join(examined, 'postgres')), 'doctor tries the sandbox and the files there, and nothing else')
})

function leavesOf(command: Command, above: string): { name: string; flags: string[] }[] {
  return command.commands.flatMap((child) => {
    const name = `${above}${child.name()}`
    const flags = child.options.map(({ long }) => long ?? '')
    const below = leavesOf(child, `${name} `)
    return below.length === 0 ? [{ name, flags }] : below
  })
}
