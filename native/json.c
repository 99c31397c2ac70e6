// Just enough JSON for the driver's commands: one object a line, as JSON.stringify writes it, whose values are strings
// (numbers, too) or lists of strings. Strings are unescaped in place. JSON.stringify writes \u only for control
// characters, so no other code is taken.
#include "reeve-box.h"

static char *parse_string(char *at, char **text) {
  static const char plain[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
  if (*at++ != '"') return NULL;
  char *out = *text = at;
  while (*at != '"') {
    unsigned code = (unsigned char)*at++;
    if (code < 0x20) return NULL;
    if (code == '\\') {
      const char *found = *at == 0 ? NULL : strchr(plain, *at);
      if (found != NULL) code = (unsigned char)meaning[found - plain], at++;
      else if (sscanf(at, "u00%2x", &code) == 1 && code != 0 && code < 0x80) at += 5;
      else return NULL;
    }
    *out++ = (char)code;
  }
  *out = 0;
  return at + 1;
}

// A string alone becomes a list of one.
static char *parse_value(char *at, struct json *json) {
  bool is_list = *at == '[';
  do {
    at += is_list;
    if (is_list && *at == ']') break;
    if (json->word_count >= WORDS_MAX - 1) return NULL;
    at = parse_string(at, &json->words[json->word_count++]);
  } while (is_list && at != NULL && *at == ',');
  json->words[json->word_count++] = NULL;
  if (!is_list || at == NULL) return at;
  return *at == ']' ? at + 1 : NULL;
}

bool json_parse(char *at, struct json *json) {
  json->count = json->word_count = 0;
  if (*at != '{') return false;
  do {
    if (json->count == FIELDS_MAX || json->word_count == WORDS_MAX) return false;
    struct json_field *field = &json->fields[json->count++];
    field->words = json->words + json->word_count;
    at = parse_string(at + 1, &field->key);
    at = at == NULL || *at != ':' ? NULL : parse_value(at + 1, json);
  } while (at != NULL && *at == ',');
  return at != NULL && strcmp(at, "}\n") == 0;
}

char **json_list(const struct json *json, const char *key) {
  static char *none[] = {NULL};
  for (int i = 0; i < json->count; i++)
    if (strcmp(json->fields[i].key, key) == 0) return json->fields[i].words;
  return none;
}

int64_t json_number(const struct json *json, const char *key) {
  const char *text = *json_list(json, key);
  return text == NULL ? 0 : strtoll(text, NULL, 10);
}

void json_print(const char *text) {
  putchar('"');
  for (; text != NULL && *text != 0; text++)
    if (*text == '"' || *text == '\\') printf("\\%c", *text);
    else if ((unsigned char)*text < 0x20) printf("\\u%04x", (unsigned)*text);
    else putchar(*text);
  putchar('"');
}
