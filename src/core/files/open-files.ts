import { join } from 'node:path'
import type { Config } from '../config.ts'
import type { FileStore } from './file-store.ts'
import { openFolderStore } from './folder-store.ts'
import { openS3Store } from './s3-store.ts'

/** S3 if an endpoint is set, otherwise a folder in the data folder. `about` describes it without secrets. */
export function openFiles(config: Config): { files: FileStore; about: string } {
  if (config.S3_ENDPOINT === '') {
    return { files: openFolderStore(join(config.REEVE_DATA_DIR, 'files')), about: 'in the data folder' }
  }
  const files = openS3Store({
    endpoint: config.S3_ENDPOINT,
    bucket: config.S3_BUCKET,
    region: config.S3_REGION,
    accessKeyId: config.S3_ACCESS_KEY_ID,
    secretAccessKey: config.S3_SECRET_ACCESS_KEY,
    forcePathStyle: config.S3_FORCE_PATH_STYLE,
  })
  return { files, about: `bucket ${config.S3_BUCKET} at ${new URL(config.S3_ENDPOINT).host}` }
}
