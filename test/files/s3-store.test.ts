import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import { describe, test, type TestContext } from 'node:test'
import { boundedFetch } from '../../src/core/files/bounded-fetch.ts'
import { TooLarge } from '../../src/core/files/file-store.ts'
import { bucketUrl, openS3Store, type S3Config } from '../../src/core/files/s3-store.ts'
import { PART_BYTES } from '../../src/core/files/s3-upload.ts'
import { KEYS, MIB, setupS3, streamOf } from './setup.ts'

describe('S3 store', () => {
  test('a wrong secret, a wrong key and a missing bucket each get one clear sentence', async (t) => {
    const { config } = await setupS3(t)
    const wrong = (change: Partial<S3Config>) => openS3Store({ ...config, ...change })
    const refused = { name: 'FileStoreError', message: /^The file store at http:\S+ refused the access key for .+\.$/ }
    const noBucket = {
      name: 'FileStoreError',
      message: /^The file store at http:\S+ has no bucket "none": create it\.$/,
    }

    await assert.rejects(wrong({ secretAccessKey: 'guess' }).check(), refused)
    await assert.rejects(wrong({ accessKeyId: 'nobody' }).check(), refused)
    await assert.rejects(wrong({ secretAccessKey: 'guess' }).put('a', Buffer.from('x')), refused)
    await assert.rejects(wrong({ secretAccessKey: 'guess' }).get('a'), refused)
    await assert.rejects(wrong({ bucket: 'none' }).check(), noBucket)
    await assert.rejects(wrong({ bucket: 'none' }).get('a'), noBucket)
    await assert.rejects(wrong({ bucket: 'none' }).put('a', Buffer.from('x')), noBucket)
    assert.throws(() => wrong({ accessKeyId: '' }), /needs an access key/)
    assert.throws(() => wrong({ endpoint: 'minio:9000' }), /not an http or https URL/)
  })

  test('an endpoint where nobody listens gets one clear sentence', async (t) => {
    const { config, close } = await setupS3(t)
    await close()

    const failure = {
      name: 'FileStoreError',
      message: /^The file store at http:\S+ cannot be reached: .*ECONNREFUSED.*\.$/,
    }
    await assert.rejects(openS3Store(config).check(), failure)
    await assert.rejects(openS3Store(config).put('a', streamOf(randomBytes(20 * MIB))), failure)
  })

  test('a broken upload is aborted, so that its parts are not kept', async (t) => {
    const { store, requests } = await setupS3(t)

    await assert.rejects(store.put('a', streamOf(randomBytes(20 * MIB)), { bytesMax: 19 * MIB }), TooLarge)

    assert.match(requests.at(-1) ?? '', /^DELETE \/files\/a\?uploadId=/)
    assert.ok(!requests.some((line) => line.startsWith('POST /files/a?uploadId=')))
  })

  test('an upload whose completion fails after the answer has begun is not taken for stored', async (t) => {
    const endpoint = await serve(t, (request, response) => {
      const created = '<InitiateMultipartUploadResult><UploadId>7</UploadId></InitiateMultipartUploadResult>'
      response.setHeader('etag', '"1"').setHeader('content-type', 'application/xml')
      request.resume().on('end', () => {
        if (request.method !== 'POST') response.end()
        else response.end(request.url?.includes('uploads') ? created : '<Error><Code>InternalError</Code></Error>')
      })
    })
    const store = openS3Store({ ...KEYS, endpoint, bucket: 'files', region: 'us-east-1', forcePathStyle: true })

    const putting = store.put('a', randomBytes(PART_BYTES + 1))

    await assert.rejects(putting, { name: 'FileStoreError', message: /failed \(200 UploadNotCompleted\)/ })
  })

  test('a request is repeated when the trouble may pass, and no more often than allowed', async (t) => {
    let asked = 0
    const endpoint = await serve(t, (_request, response) => {
      asked += 1
      response.writeHead(asked === 3 ? 200 : 503).end()
    })

    assert.equal(
      (await boundedFetch({ attemptsMax: 2, answerMsMax: 60_000, totalMsMax: 120_000 })(endpoint)).status,
      503,
    )
    assert.equal(asked, 2)
    assert.equal(
      (await boundedFetch({ attemptsMax: 3, answerMsMax: 60_000, totalMsMax: 120_000 })(endpoint)).status,
      200,
    )
    assert.equal(asked, 3)
  })

  test('a server that never answers is given up on', async (t) => {
    const endpoint = await serve(t, () => {})

    await assert.rejects(boundedFetch({ attemptsMax: 2, answerMsMax: 50, totalMsMax: 20_000 })(endpoint), {
      code: 'ETIMEDOUT',
    })
  })

  test('all attempts together take no longer than allowed', async (t) => {
    let asked = 0
    const endpoint = await serve(t, () => void (asked += 1))
    const limits = { attemptsMax: 1000, answerMsMax: 100, totalMsMax: 600 }

    await assert.rejects(boundedFetch(limits)(endpoint), { code: 'ETIMEDOUT' })

    assert(asked >= 1 && asked <= 4, `asked ${asked} times`)
  })

  test('the bucket is in the path or in the host name', () => {
    const config = { ...KEYS, bucket: 'files', region: 'us-east-1' }

    const inPath = bucketUrl({ ...config, endpoint: 'http://minio:9000/', forcePathStyle: true })
    const inHost = bucketUrl({ ...config, endpoint: 'https://s3.eu-west-1.amazonaws.com', forcePathStyle: false })

    assert.equal(inPath, 'http://minio:9000/files')
    assert.equal(inHost, 'https://files.s3.eu-west-1.amazonaws.com/')
  })
})

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  return `http://127.0.0.1:${address.port}`
}
