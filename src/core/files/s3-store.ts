// Keys are keys of one bucket (AWS S3, MinIO and their like). Parts of a broken upload are invisible to readers; give the
// bucket a lifecycle rule that removes incomplete uploads, for those of a process that died.

import { Readable } from 'node:stream'
import { S3mini } from 's3mini'
import { boundedFetch, type FetchLimits } from './bounded-fetch.ts'
import { assertKey, assertKeyPrefix, isKey } from './file-key.ts'
import { FileStoreError, type FileStore } from './file-store.ts'
import { metered } from './meter.ts'
import { answerIn, failureOf, noBucket } from './s3-failure.ts'
import { upload } from './s3-upload.ts'

const LIST_PAGE_KEYS = 1000 // S3's own limit
const CALL_LIMITS = { attemptsMax: 4, answerMsMax: 60_000, totalMsMax: 90_000 } // a part of 8 MiB at 1.2 Mbit/s
const CHECK_LIMITS = { attemptsMax: 1, answerMsMax: 5_000, totalMsMax: 5_000 } // who asks about readiness asks again

export interface S3Config {
  endpoint: string
  bucket: string
  region: string
  accessKeyId: string
  secretAccessKey: string
  forcePathStyle: boolean
}

/** Files in a bucket. Makes no request yet; throws one clear sentence for a config that cannot work. */
export function openS3Store(config: S3Config): FileStore {
  const place = { origin: endpointOf(config).origin, bucket: config.bucket }
  const client = connect(config, CALL_LIMITS)
  const checker = connect(config, CHECK_LIMITS)
  const told = <T>(call: Promise<T>): Promise<T> =>
    call.catch((error: unknown) => {
      throw failureOf(error, place)
    })

  return {
    async put(key, content, options = {}) {
      assertKey(key)
      const meter = metered(content, options.bytesMax)
      try {
        await upload(client, key, meter, options.contentType ?? 'application/octet-stream')
      } catch (error) {
        throw error === meter.errored ? error : failureOf(error, place) // the content may fail, too
      }
      return meter.total()
    },

    async get(key) {
      assertKey(key)
      const response = await told(orNull(client.getObjectRaw(key)))
      if (response === null) return null
      return response.body === null ? Readable.from([]) : Readable.fromWeb(response.body)
    },

    async stat(key) {
      assertKey(key)
      const bytes = await told(orNull(client.getContentLength(key)))
      return bytes === null ? null : { bytes }
    },

    async *list(prefix) {
      assertKeyPrefix(prefix)
      let next: string | undefined
      do {
        const page = await told(client.listObjectsPaged('/', prefix, LIST_PAGE_KEYS, next))
        if (!page) throw noBucket(place)
        for (const { Key: key } of page.objects ?? []) if (isKey(key)) yield key
        next = page.nextContinuationToken
      } while (next !== undefined)
    },

    async delete(key) {
      assertKey(key)
      await told(orNull(client.deleteObject(key)))
    },

    async check() {
      // A list of one key: unlike a HEAD of the bucket, its refusal says why.
      const query = { 'list-type': 2, 'max-keys': 1 }
      const page = await told(checker.getObjectRaw('', true, 0, undefined, query))
      await page.body?.cancel()
    },
  }
}

function connect(config: S3Config, limits: FetchLimits): S3mini {
  const { accessKeyId, secretAccessKey, region } = config
  return new S3mini({ accessKeyId, secretAccessKey, region, endpoint: bucketUrl(config), fetch: boundedFetch(limits) })
}

/** The bucket in the path (MinIO) or in the host name (AWS). */
export function bucketUrl(config: S3Config): string {
  const url = endpointOf(config)
  if (config.forcePathStyle) url.pathname = `${url.pathname.replace(/\/$/, '')}/${config.bucket}`
  else url.hostname = `${config.bucket}.${url.hostname}`
  return url.href
}

function endpointOf(config: S3Config): URL {
  // Without keys the library would send unsigned requests, and the bucket's answer would not say why it failed.
  if (config.accessKeyId === '' || config.secretAccessKey === '') {
    throw new FileStoreError(`The file store at ${config.endpoint} needs an access key and its secret.`)
  }
  const url = URL.canParse(config.endpoint) ? new URL(config.endpoint) : null
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url
  throw new FileStoreError(`The file store's endpoint "${config.endpoint}" is not an http or https URL.`)
}

/** Null if there is no such key. A missing bucket is an error, though a HEAD cannot tell them apart. */
async function orNull<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call
  } catch (error) {
    const answer = answerIn(error)
    if (answer?.status === 404 && answer.serviceCode !== 'NoSuchBucket') return null
    throw error
  }
}
