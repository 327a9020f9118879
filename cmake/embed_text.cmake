# SPDX-License-Identifier: Apache-2.0
# Writes OUT, a C file that holds FILES (name=path, separated by commas) as texts named
# emit_text_name (see src/emit/dialect_c.c), which end in a zero; emit_size_name is the
# length before it.
string(REPLACE "," ";" files "${FILES}")
set(arrays "")
foreach(file ${files})
  string(REGEX REPLACE "=.*" "" name "${file}")
  string(REGEX REPLACE "^[^=]*=" "" path "${file}")
  file(READ ${path} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND arrays "extern const unsigned char emit_text_${name}[];\n"
    "const unsigned char emit_text_${name}[] = {${bytes}0};\n"
    "extern const unsigned long emit_size_${name};\n"
    "const unsigned long emit_size_${name} = sizeof emit_text_${name} - 1;\n")
endforeach()
file(WRITE ${OUT} "${arrays}")
