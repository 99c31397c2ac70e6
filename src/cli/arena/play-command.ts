// `reeve play`: a match of the arena in this terminal. `reeve play --bot N`: so many bots who play until they are stopped, to
// practise against or to put load on a server.
import {
  ArenaClient,
  ArenaConnectionError,
  ArenaError,
  type ArenaMode,
  type ArenaSession,
  type SessionEnded,
  type SocketConstructor,
} from '@reeve/sdk/arena'
import { ReeveClient, ReeveError } from '@reeve/sdk'
import { Option, type Command } from 'commander'
import { WebSocket } from 'ws'
import { jitter, newPassword, newSecret } from '../../core/random.ts'
import { positiveInteger } from '../arguments.ts'
import { CommandFailed } from '../failure.ts'
import { endOf } from './match-end.ts'
import { openScreen } from './play-screen.ts'
import { plain, print, printJson, say } from '../terminal.ts'
import { apiKeyOf, urlOf, type ClientOptions } from '../access/client.ts'
import { checkedFetch } from '../access/checked-fetch.ts'
import { requireOpen } from '../access/server-url.ts'
import { tokenFor, withEngine } from '../access/with-engine.ts'

const WAIT_SEC = 60
const BOTS_MAX = 10_000
const LOGINS_AT_ONCE = 4
const TELL_EVERY_MS = 5000

interface PlayOptions extends ClientOptions {
  mode: ArenaMode
  bot?: number
  matches?: number
  json?: boolean
}

const socketOf: SocketConstructor = WebSocket

export function addPlayCommand(program: Command): void {
  program
    .command('play')
    .description('play a match of the arena in this terminal, or let bots play')
    .option('--url <url>', 'the server; default: SERVER_HOST and SERVER_PORT')
    .option('--api-key-file <file>', 'play as the account of this API key; default: a new guest')
    .option('--as <username>', 'play as this account (needs access to the database)')
    .addOption(
      new Option('--mode <mode>', 'how opponents are chosen').choices(['normal', 'rated', 'bot']).default('normal'),
    )
    .option('--bot <n>', 'let this many bots play instead of you', positiveInteger)
    .option('--matches <n>', 'stop after this many matches (with --bot: each bot; default: never)', positiveInteger)
    .option('--json', 'with --bot: print a line of JSON for every match')
    .action(play)
}

async function play(options: PlayOptions): Promise<void> {
  const isOneAccount = options.as !== undefined || options.apiKeyFile !== undefined
  if (isOneAccount && (options.bot ?? 1) > 1)
    throw new CommandFailed('An account plays one match at a time: --bot takes 1 with --as or --api-key-file.', 2)
  try {
    const url = urlOf(options)
    await requireOpen(url, { reeve: new ReeveClient({ url, fetch: checkedFetch }), door: 'arena' })
    if (options.bot === undefined) await playHere(options)
    else await playBots(options, Math.min(options.bot, BOTS_MAX))
  } catch (error) {
    if (error instanceof ReeveError || error instanceof ArenaError || error instanceof ArenaConnectionError)
      throw new CommandFailed(plain(error.message))
    if (error instanceof TypeError) throw new CommandFailed(`No answer from ${urlOf(options)}: is the server running?`)
    throw error
  }
}

async function playHere(options: PlayOptions): Promise<void> {
  if (!process.stdin.isTTY) throw new CommandFailed('reeve play needs a terminal. For bots: reeve play --bot 2', 2)
  const arena = await entrance(options, 'guest')()
  for (let played = 0; played < (options.matches ?? 1); played += 1) {
    const { username } = await arena.profile()
    say(`You are ${plain(username)}. Looking for an opponent … (Ctrl-C to leave)`)
    const session = arena.session ?? (await arena.play({ mode: options.mode, timeoutSeconds: WAIT_SEC }))
    const screen = openScreen(session, username)
    const { result } = await session.ended
    screen.close()
    const { rating } = await arena.profile()
    print(`${verdict(session, username, result?.winnerUserId ?? null, result === null)} Your rating: ${rating}.`)
  }
  arena.close()
}

function verdict({ participants }: ArenaSession, username: string, winner: number | null, isVoid: boolean): string {
  if (isVoid) return 'The match is void: no rating moves.'
  if (winner === null) return 'A draw.'
  return participants.find(({ userId }) => userId === winner)?.username === username ? 'You won.' : 'You lost.'
}

/** Until they have played enough, or for ever: Ctrl-C. */
async function playBots(options: PlayOptions, count: number): Promise<void> {
  const total = { bots: 0, running: 0, games: 0 }
  const telling = setInterval(() => {
    if (options.json !== true) say(`${total.bots} bots, ${total.running} playing, ${total.games} games played`)
  }, TELL_EVERY_MS)
  try {
    const bots: Promise<void>[] = []
    for (let n = 0; n < count; n += LOGINS_AT_ONCE) {
      const some = Array.from({ length: Math.min(LOGINS_AT_ONCE, count - n) }, async () => {
        const enter = entrance(options, 'bot')
        return { enter, arena: await enter() }
      })
      for (const { enter, arena } of await Promise.all(some)) bots.push(playBot(enter, arena, options, total))
      total.bots = bots.length
    }
    await Promise.all(bots)
  } finally {
    clearInterval(telling)
  }
  if (options.json !== true) print(`${total.games} games played.`)
}

async function playBot(
  enter: Enter,
  first: ArenaClient,
  options: PlayOptions,
  total: { running: number; games: number },
): Promise<void> {
  let arena = first
  let loginEnds = whenLoginEnds(arena)
  const enterAgain = async () => {
    arena.close()
    arena = await enter()
    loginEnds = whenLoginEnds(arena)
  }
  for (let played = 0; played < (options.matches ?? Infinity);) {
    const session = await arena.play({ mode: options.mode, timeoutSeconds: WAIT_SEC }).catch(goOnAfter)
    if (session === 'again') continue
    if (session === 'login_over') {
      await enterAgain()
      continue
    }
    total.running += 1
    session.onState(({ tick }) => {
      if (tick % 2 === 0) session.move(jitter(3, 1) - 3, { ahead: 2 })
    })
    let ended: SessionEnded | 'login_over' | null = await Promise.race([session.ended, loginEnds])
    if (ended === 'login_over') {
      await enterAgain()
      ended = await endOf(arena, session)
    }
    total.running -= 1
    if (ended === null) {
      say(`The end of match ${plain(session.sessionId)} is not known.`)
      continue
    }
    total.games += 1 // two of them are a match of two bots
    played += 1
    if (options.json === true) printJson(ended)
  }
  arena.close()
}

/** The client cannot connect again with this login. */
const whenLoginEnds = (arena: ArenaClient): Promise<'login_over'> =>
  new Promise((resolve) => {
    arena.on('connection', (state) => {
      if (state !== 'lost') return
      arena.profile().catch((error: unknown) => {
        if (error instanceof ReeveError && error.status === 401) resolve('login_over')
      })
    })
  })

/** Nobody came, or a match from before is still on: once more. A login ends after an hour, and bots play on. */
function goOnAfter(error: unknown): 'again' | 'login_over' {
  if (error instanceof ArenaError && error.code === 'queue_timeout') return 'again'
  if (error instanceof ReeveError && error.status === 409) return 'again'
  if (error instanceof ReeveError && error.status === 401) return 'login_over'
  throw error
}

type Enter = () => Promise<ArenaClient>

/** How to log in as one and the same player, as often as need be. */
function entrance(options: PlayOptions, kind: 'guest' | 'bot'): Enter {
  const url = urlOf(options)
  const { as } = options
  const apiKey = apiKeyOf(options)
  if (apiKey !== null) {
    return async () => {
      const arena = new ArenaClient({ url, apiKey, WebSocket: socketOf })
      await arena.profile() // a key that is not valid is refused here with a sentence, at the WebSocket with a number
      return arena
    }
  }
  if (as !== undefined) return async () => new ArenaClient({ url, token: await tokenOf(as), WebSocket: socketOf })
  const credentials = { username: `${kind}-${newSecret().slice(0, 8)}`, password: newPassword() }
  return () => ArenaClient.login({ url, ...credentials, register: true, WebSocket: socketOf })
}

/** Whoever can read the database may speak for any account. */
function tokenOf(username: string): Promise<string> {
  return withEngine((deps) => tokenFor(username, deps))
}
