import type { Readable } from 'node:stream'
import { S3ServiceError, type S3mini, type UploadPart } from 's3mini'

/** An upload holds one part in memory, and for a moment its copy. S3 wants at least 5 MiB; 10,000 parts of this are 78 GiB. */
export const PART_BYTES = 8 * 1024 * 1024

/**
 * One request if the content fits one part, else one part after the other. The library would take the stream itself, but
 * when the stream fails it abandons the parts under way, whose errors then end the process.
 */
export async function upload(client: S3mini, key: string, content: Readable, contentType: string): Promise<void> {
  let uploadId: string | null = null
  const sent: UploadPart[] = []
  try {
    for await (const { bytes, isLast } of inParts(content)) {
      if (isLast && uploadId === null) {
        await client.putObject(key, bytes, contentType)
        return
      }
      uploadId ??= await client.getMultipartUploadId(key, contentType)
      sent.push(await client.uploadPart(key, uploadId, bytes, sent.length + 1))
    }
    if (uploadId !== null) await complete(client, key, uploadId, sent)
  } catch (error) {
    // If this fails, too, the parts stay until the bucket's lifecycle rule removes them; the first error is reported.
    if (uploadId !== null) await client.abortMultipartUpload(key, uploadId).catch(() => {})
    throw error
  }
}

async function complete(client: S3mini, key: string, uploadId: string, sent: UploadPart[]): Promise<void> {
  const { etag }: { etag?: string } = await client.completeMultipartUpload(key, uploadId, sent)
  // S3 may answer 200 and report an error in the body; the library returns that as a result without an etag.
  if (etag === undefined) throw new S3ServiceError('No etag', 200, 'UploadNotCompleted')
}

/** Cuts the content into parts of PART_BYTES; only the last may be shorter, and only it may be empty. */
async function* inParts(content: Readable): AsyncGenerator<{ bytes: Buffer; isLast: boolean }> {
  let held: Buffer[] = []
  let heldBytes = 0
  for await (const chunk of content) {
    for (let rest: Buffer = chunk; rest.length > 0;) {
      // A full part waits for one more byte: without it, it is the last.
      if (heldBytes === PART_BYTES) {
        const bytes = Buffer.concat(held)
        held = []
        heldBytes = 0
        yield { bytes, isLast: false }
      }
      const taken = rest.subarray(0, PART_BYTES - heldBytes)
      held.push(taken)
      heldBytes += taken.length
      rest = rest.subarray(taken.length)
    }
  }
  yield { bytes: Buffer.concat(held), isLast: true }
}
