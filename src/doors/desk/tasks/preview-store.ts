import type { FileStore } from '../../../core/files/file-store.ts'
import { openFolderStore } from '../../../core/files/folder-store.ts'

/** Where all files are, unless a folder of their own is set. */
export const openPreviews = (files: FileStore, folder: string): FileStore =>
  folder === '' ? files : openFolderStore(folder)

export const previewKey = (uuid: string): string => `captcha/previews/${uuid}`
