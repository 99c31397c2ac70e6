// The errors of the common solver API: a number, a code that libraries know, a sentence. They come with status 200.

const ADAPTER_ERRORS = {
  ERROR_KEY_DOES_NOT_EXIST: [1, 'There is no such API key, or its account is not a SCRAPER.'],
  ERROR_NO_SLOT_AVAILABLE: [2, 'Too many tasks in a minute. Try again later.'],
  ERROR_ZERO_CAPTCHA_FILESIZE: [3, 'The picture is empty.'],
  ERROR_TOO_BIG_CAPTCHA_FILESIZE: [4, 'The picture is larger than 500 KB.'],
  ERROR_CAPTCHA_UNSOLVABLE: [12, 'The operators could not solve it, or nobody claimed it in time.'],
  ERROR_NO_SUCH_METHOD: [14, 'There is no such method.'],
  ERROR_IMAGE_TYPE_NOT_SUPPORTED: [15, 'The picture is not a PNG, JPEG, GIF or WebP in base64.'],
  ERROR_NO_SUCH_CAPCHA_ID: [16, 'There is no such task of yours.'],
  ERROR_TASK_ABSENT: [22, 'The task is missing.'],
  ERROR_TASK_NOT_SUPPORTED: [23, 'Tasks of this type are not done here.'],
  ERROR_BAD_PARAMETERS: [110, 'A parameter is missing or wrong.'],
  ERROR_DOMAIN_NOT_ALLOWED: [115, 'domain_not_authorised: the owner of this server has not listed this domain.'],
  ERROR_INTERNAL: [500, 'Something went wrong here. Try again.'],
} as const satisfies Record<string, readonly [id: number, description: string]>

export type AdapterCode = keyof typeof ADAPTER_ERRORS

export interface AdapterErrorBody {
  errorId: number
  errorCode: AdapterCode
  errorDescription: string
}

export class AdapterError extends Error {
  override name = 'AdapterError'
  readonly body: AdapterErrorBody

  constructor(code: AdapterCode, description: string = ADAPTER_ERRORS[code][1]) {
    super(description)
    this.body = { errorId: ADAPTER_ERRORS[code][0], errorCode: code, errorDescription: description }
  }
}
