// A fresh store for each test: a folder, or a bucket of an S3 server that checks signatures.

import crypto, { createCipheriv, createDecipheriv } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { mock, type TestContext } from 'node:test'
import S3rver from '@20minutes/s3rver'
import type { FileStore } from '../../src/core/files/file-store.ts'
import { openFolderStore } from '../../src/core/files/folder-store.ts'
import { openS3Store, type S3Config } from '../../src/core/files/s3-store.ts'

export const MIB = 1024 * 1024
export const KEYS = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' } // the only pair that the server knows

export interface Setup {
  store: FileStore
  /** How much content has left the process, or at least its hands. */
  storedBytes(): number
  /** What failed puts have left behind. */
  leftovers(): string[]
}

export interface FolderSetup extends Setup {
  dir: string
}

export interface S3Setup extends Setup {
  config: S3Config
  /** "PUT /files/a?partNumber=1": what the server was asked. */
  requests: string[]
  close(): Promise<void>
}

// The server writes its continuation tokens in DES, which OpenSSL 3 has no more. Triple DES with one key thrice is DES.
const thrice = (key: Buffer) => Buffer.concat([key, key, key])
mock.method(crypto, 'createCipheriv', (_des: string, key: Buffer, iv: Buffer) =>
  createCipheriv('des-ede3-cbc', thrice(key), iv),
)
mock.method(crypto, 'createDecipheriv', (_des: string, key: Buffer, iv: Buffer) =>
  createDecipheriv('des-ede3-cbc', thrice(key), iv),
)

export async function newFolder(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'reeve-files-'))
  t.after(() => rm(dir, { recursive: true, force: true }))
  return dir
}

export async function setupFolder(t: TestContext): Promise<FolderSetup> {
  const dir = join(await newFolder(t), 'files')
  const store = openFolderStore(dir)
  const temps = join(dir, '~tmp')
  const leftovers = () => readdirSync(temps)
  const storedBytes = () => leftovers().reduce((sum, name) => sum + statSync(join(temps, name)).size, 0)
  return { store, dir, leftovers, storedBytes }
}

export async function setupS3(t: TestContext): Promise<S3Setup> {
  const directory = join(await newFolder(t), 'buckets')
  await mkdir(directory)
  const buckets = [{ name: 'files' }]
  const options = { address: '127.0.0.1', port: 0, silent: true, vhostBuckets: false }
  const server = new S3rver({ ...options, directory, configureBuckets: buckets })
  // It signs "/files" where S3 and its clients sign "/files/", so that no signature of a list would ever match.
  server.middleware.unshift((context, next) => {
    const trusting = { allowMismatchedSignatures: { value: true } }
    if (context.path === '/files/') context.app = Object.create(context.app, trusting)
    return next()
  })
  const { port } = await server.run()
  const requests: string[] = []
  let bytes = 0
  server.httpServer.on('request', (request, response) => {
    requests.push(`${request.method} ${request.url}`)
    response.on('finish', () => {
      if (request.method === 'PUT') bytes += Number(request.headers['content-length'])
    })
  })
  const close = async () => {
    server.httpServer.closeAllConnections()
    if (server.httpServer.listening) await server.close()
  }
  t.after(close)
  const endpoint = `http://127.0.0.1:${port}`
  const config: S3Config = { ...KEYS, endpoint, bucket: 'files', region: 'us-east-1', forcePathStyle: true }
  // This server keeps the parts of an aborted upload, so that the abort is looked for in its requests instead.
  const leftovers = () => (requests.some(isUpload('POST')) && !requests.some(isUpload('DELETE')) ? requests : [])
  return { store: openS3Store(config), config, requests, close, leftovers, storedBytes: () => bytes }
}

const isUpload = (method: string) => (line: string) => line.startsWith(`${method} `) && line.includes('upload')

export function streamOf(content: Buffer): Readable {
  const chunks = Array.from({ length: Math.ceil(content.length / 65_536) }, (_none, index) =>
    content.subarray(index * 65_536, (index + 1) * 65_536),
  )
  return Readable.from(chunks, { objectMode: false })
}

export async function read(store: FileStore, key: string): Promise<Buffer | null> {
  const content = await store.get(key)
  return content && buffer(content)
}

export async function keys(store: FileStore, prefix: string): Promise<string[]> {
  const all: string[] = []
  for await (const key of store.list(prefix)) all.push(key)
  return all
}
