// Just enough JSON for the driver's commands: one flat object a line of strings, integers, true, false, null and lists
// of strings. Strings are unescaped in place. JSON.stringify writes \u only for control characters, so no other code is
// taken.
#include "reeve-box.h"

static char *skip_space(char *at) { return at + strspn(at, " \t\r\n"); }

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

static char *parse_list(char *at, struct json *json, struct json_value *value) {
  value->items = json->words + json->word_count;
  for (at = skip_space(at + 1); *at != ']'; at = skip_space(at + (*at == ','))) {
    if (json->word_count >= WORDS_MAX - 1) return NULL;
    at = parse_string(at, &json->words[json->word_count++]);
    if (at == NULL || (*(at = skip_space(at)) != ',' && *at != ']')) return NULL;
    value->count++;
  }
  json->words[json->word_count++] = NULL;
  return at + 1;
}

static char *parse_value(char *at, struct json *json, struct json_value *value) {
  if (*at == '"') return parse_string(at, &value->text);
  if (*at == '[') return parse_list(at, json, value);
  if (strncmp(at, "null", 4) == 0) return at + 4;
  if (strncmp(at, "false", 5) == 0) return at + 5;
  if (strncmp(at, "true", 4) == 0) return value->number = 1, at + 4;
  char *end;
  errno = 0;
  value->number = strtoll(at, &end, 10);
  return end == at || errno != 0 ? NULL : end;
}

bool json_parse(char *at, struct json *json) {
  json->count = json->word_count = 0;
  at = skip_space(at);
  if (*at != '{') return false;
  for (at = skip_space(at + 1); *at != '}'; at = skip_space(at + (*at == ','))) {
    if (json->count == FIELDS_MAX) return false;
    struct json_value *value = &json->values[json->count++];
    *value = (struct json_value){0};
    if ((at = parse_string(at, &value->key)) == NULL || *(at = skip_space(at)) != ':') return false;
    if ((at = parse_value(skip_space(at + 1), json, value)) == NULL) return false;
    if (*(at = skip_space(at)) != ',' && *at != '}') return false;
  }
  return *skip_space(at + 1) == 0;
}

static const struct json_value *find(const struct json *json, const char *key) {
  static const struct json_value absent;
  for (int i = 0; i < json->count; i++)
    if (strcmp(json->values[i].key, key) == 0) return &json->values[i];
  return &absent;
}

const char *json_text(const struct json *json, const char *key) { return find(json, key)->text; }

int64_t json_number(const struct json *json, const char *key) { return find(json, key)->number; }

char **json_list(const struct json *json, const char *key, int *count) {
  static char *empty[] = {NULL};
  const struct json_value *value = find(json, key);
  *count = value->count;
  return value->items == NULL ? empty : value->items;
}

void json_print(const char *text) {
  putchar('"');
  for (; *text != 0; text++)
    if (*text == '"' || *text == '\\') printf("\\%c", *text);
    else if ((unsigned char)*text < 0x20) printf("\\u%04x", (unsigned)*text);
    else putchar(*text);
  putchar('"');
}
