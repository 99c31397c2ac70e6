import { S3ServiceError } from 's3mini'
import { FileStoreError } from './file-store.ts'

export interface Place {
  origin: string
  bucket: string
}

/** What a failed call means to an operator. The answer's body is left out: it repeats the signed request. */
export function failureOf(error: unknown, place: Place): FileStoreError {
  const answer = answerIn(error)
  const store = `The file store at ${place.origin}`

  if (answer?.serviceCode === 'NoSuchBucket') return noBucket(place)
  if (answer === null)
    return new FileStoreError(`${store} cannot be reached: ${networkReason(error)}.`, { cause: error })
  const code = answer.serviceCode === 'Unknown' ? '' : ` ${answer.serviceCode}`
  const said = `${answer.status}${code}`
  if (answer.status === 401 || answer.status === 403) {
    return new FileStoreError(`${store} refused the access key for bucket "${place.bucket}" (${said}).`)
  }
  return new FileStoreError(`${store} failed (${said}).`)
}

export function noBucket(place: Place): FileStoreError {
  return new FileStoreError(`The file store at ${place.origin} has no bucket "${place.bucket}": create it.`)
}

/** The service's answer, if there was one; some calls of the library wrap it. */
export function answerIn(error: unknown): S3ServiceError | null {
  if (error instanceof S3ServiceError) return error
  return error instanceof Error && error.cause !== undefined ? answerIn(error.cause) : null
}

/** The innermost cause names the problem; the outer one only says "fetch failed". */
function networkReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.cause instanceof Error) return networkReason(error.cause)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return error.message === '' ? code : error.message
}
