// deploy/proxy: nginx and Caddy run with the samples as they are, but for ports and the certificate, in front of a server.
// Run by `npm run test:slow -- deploy`.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { ArenaClient, type SocketConstructor } from '@reeve/sdk/arena'
import { WebSocket } from 'ws'
import { atEnd } from '../support/cleanup.ts'
import { newAccount, PASSWORD, startReeve } from '../support/reeve.ts'
import { freePort, temporaryFolder } from '../support/servers.ts'
import { until } from '../support/until.ts'
import { has } from './program.ts'

const NAME = 'reeve.example.org'
const FORGED = '198.51.100.7'
const CERTIFICATE = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', `/CN=${NAME}`]

interface Place {
  folder: string
  /** Where the proxy listens. */
  port: number
  serverPort: string
}

const PROXIES: Readonly<Record<string, (place: Place) => Promise<string[]>>> = {
  nginx: nginxOptions,
  caddy: caddyOptions,
}

for (const [program, optionsOf] of Object.entries(PROXIES)) {
  const skip = has(program) ? false : `${program} is not installed`
  test(`${program} passes requests and WebSockets on, with the client's address`, { skip }, async (t) => {
    const { url } = await startReeve(t, {
      doors: 'arena',
      env: { TRUST_PROXY: 'true', PUBLIC_URL: `https://${NAME}`, ALLOWED_HOSTS: NAME },
    })
    const { token, username } = await newAccount(url, 'ann')
    const place = { folder: await temporaryFolder(t), port: await freePort(), serverPort: new URL(url).port }
    start(t, place.folder, program, await optionsOf(place))
    await until(`${program} answers`, async () => (await ask(place, '/healthz').catch(() => null))?.status === 200)

    const login = await ask(place, '/auth/login', { username, password: PASSWORD })
    assert.equal(login.status, 200, login.body)
    const { sessions } = JSON.parse((await ask(place, '/auth/sessions', null, token)).body)
    assert.deepEqual([sessions[0].address, sessions.length], ['127.0.0.1', 2], 'not the address that the client claims')

    const arena = new ArenaClient({ url: `https://127.0.0.1:${place.port}`, token, WebSocket: trusting })
    atEnd(t, () => arena.close())
    assert.equal((await arena.connect()).username, username)
    assert.equal(await arena.echo('through the proxy'), 'through the proxy')
  })
}

function start(t: TestContext, home: string, program: string, options: readonly string[]): void {
  const env = { PATH: process.env['PATH'], HOME: home } // Caddy keeps its configuration there
  const child = spawn(program, options, { env, stdio: ['ignore', 'ignore', 'inherit'] })
  atEnd(t, async () => {
    child.kill('SIGTERM')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
}

const certificateIn = (folder: string) => [join(folder, 'cert.pem'), join(folder, 'key.pem')] as const

function makeCertificate(folder: string): void {
  const [certificate, key] = certificateIn(folder)
  const { status, stderr } = spawnSync('openssl', [...CERTIFICATE, '-keyout', key, '-out', certificate])
  assert.equal(status, 0, String(stderr))
}

async function nginxOptions({ folder, port, serverPort }: Place): Promise<string[]> {
  makeCertificate(folder)
  const [certificate, key] = certificateIn(folder)
  const site = readFileSync('deploy/proxy/nginx.conf', 'utf8')
    .replace(/\/etc\/letsencrypt\S+fullchain\.pem/, certificate)
    .replace(/\/etc\/letsencrypt\S+privkey\.pem/, key)
    .replace(/^.*listen \[::\].*\n/gm, '')
    .replace('listen 80;', `listen 127.0.0.1:${await freePort()};`)
    .replace('listen 443 ', `listen 127.0.0.1:${port} `)
    .replace('127.0.0.1:8080', `127.0.0.1:${serverPort}`)
  await writeFile(join(folder, 'site.conf'), site)
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  const http = `http { access_log off; ${paths.join(' ')} include ${folder}/site.conf; }`
  await writeFile(join(folder, 'nginx.conf'), `daemon off; pid ${folder}/pid; events {} ${http}`)
  return ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')]
}

async function caddyOptions({ folder, port, serverPort }: Place): Promise<string[]> {
  makeCertificate(folder)
  const site = readFileSync('deploy/proxy/Caddyfile', 'utf8')
    .replace(
      `${NAME}, frame.${NAME} {`,
      `https://${NAME}:${port} {\n\tbind 127.0.0.1\n\ttls ${certificateIn(folder).join(' ')}`,
    )
    .replace('127.0.0.1:8080', `127.0.0.1:${serverPort}`)
  assert.match(site, /\ttls /)
  const own = `{\n\tadmin off\n\tauto_https off\n\tstorage file_system ${folder}/storage\n}\n`
  await writeFile(join(folder, 'Caddyfile'), own + site)
  return ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')]
}

/** The certificate is of nobody, and the name is in no DNS. */
const TRUSTING = { servername: NAME, rejectUnauthorized: false }

const trusting: SocketConstructor = class extends WebSocket {
  constructor(url: string, protocols: string[]) {
    super(url, protocols, { ...TRUSTING, headers: { host: NAME, 'x-forwarded-for': FORGED } })
  }
}

async function ask({ port }: Place, path: string, body: object | null = null, token = ''): Promise<Answered> {
  const headers = {
    host: NAME,
    'x-forwarded-for': FORGED,
    ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
    ...(body === null ? {} : { 'content-type': 'application/json' }),
  }
  const method = body === null ? 'GET' : 'POST'
  const asked = request({ ...TRUSTING, host: '127.0.0.1', port, path, method, headers, agent: false })
  asked.end(body === null ? undefined : JSON.stringify(body))
  const [response] = await once(asked, 'response')
  return { status: response.statusCode, body: await text(response) }
}

interface Answered {
  status: number
  body: string
}
