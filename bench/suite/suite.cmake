# SPDX-License-Identifier: Apache-2.0
# The target bench_suite: the harness, and each reference by gcc and by clang (as far as
# they are there), for this very machine, in the folder bench/ of the build.
set(BENCH_DIR ${PROJECT_SOURCE_DIR}/bench/suite)
set(BENCH_OUT ${PROJECT_BINARY_DIR}/bench)
file(MAKE_DIRECTORY ${BENCH_OUT})
set(BENCH_FLAGS -std=c11 -O3 -march=native -ffp-contract=fast -fno-math-errno
  -fno-trapping-math -fPIC -shared -Wall -Wextra -Wconversion -Wshadow
  -Wno-psabi -I${PROJECT_SOURCE_DIR}/include)
if(WEFT_WERROR)
  list(APPEND BENCH_FLAGS -Werror)
endif()
# What the meaning of floats costs C: references that otherwise estimate do not.
option(WEFT_BENCH_EXACT "References keep to the program's roots and quotients" OFF)
if(WEFT_BENCH_EXACT)
  list(APPEND BENCH_FLAGS -DBENCH_EXACT)
endif()
set(BENCH_HEADERS ${BENCH_DIR}/bench.h ${BENCH_DIR}/vector.h ${BENCH_DIR}/keep.h ${BENCH_DIR}/roofs.h
  ${BENCH_DIR}/elementary.h ${PROJECT_SOURCE_DIR}/include/weft.h)
set(BENCH_OBJECTS)

function(bench_object compiler type source object)
  set(object ${BENCH_OUT}/${object}.so)
  add_custom_command(OUTPUT ${object}
    COMMAND ${compiler} ${BENCH_FLAGS} -DBENCH_TYPE=BENCH_TYPE_${type}
            -o ${object} ${BENCH_DIR}/${source} -lm
    DEPENDS ${BENCH_DIR}/${source} ${BENCH_HEADERS}
    COMMENT "Compiling ${source} for ${type}" VERBATIM)
  set(BENCH_OBJECTS ${BENCH_OBJECTS} ${object} PARENT_SCOPE)
endfunction()

find_program(BENCH_GCC gcc)
find_program(BENCH_CLANG clang)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${BENCH_DIR}/work.def)
file(STRINGS ${BENCH_DIR}/work.def BENCH_WORKS REGEX "^WORK")
foreach(work ${BENCH_WORKS})
  string(REGEX MATCH "WORK\\(([a-z0-9]+), ([a-z0-9]+)\\)" matched "${work}")
  set(name ${CMAKE_MATCH_1})
  set(type ${CMAKE_MATCH_2})
  if(BENCH_GCC)
    bench_object(${BENCH_GCC} ${type} work/${name}.c ref_${name}_${type}.gcc)
  endif()
  if(BENCH_CLANG)
    bench_object(${BENCH_CLANG} ${type} work/${name}.c ref_${name}_${type}.clang)
  endif()
endforeach()
bench_object(${CMAKE_C_COMPILER} f32 roofs.c roofs)
add_custom_target(bench_objects DEPENDS ${BENCH_OBJECTS})

file(GLOB BENCH_SOURCES CONFIGURE_DEPENDS ${BENCH_DIR}/*.c)
list(FILTER BENCH_SOURCES EXCLUDE REGEX "/roofs.c$")
add_executable(bench_suite EXCLUDE_FROM_ALL ${BENCH_SOURCES})
set_target_properties(bench_suite PROPERTIES ENABLE_EXPORTS ON
  RUNTIME_OUTPUT_DIRECTORY ${BENCH_OUT})
target_link_libraries(bench_suite PRIVATE
  weft_flags weft_shared Threads::Threads m ${CMAKE_DL_LIBS})
add_dependencies(bench_suite bench_objects)
