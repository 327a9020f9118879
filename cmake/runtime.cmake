# SPDX-License-Identifier: Apache-2.0
# libweftrt, static and shared, out of sources that libweft has, too, and the one behind
# weft_rt.h. It is also embedded in libweft, which puts it into the shared libraries that
# `weft build` makes.
add_library(weftrt_objects OBJECT
  src/abi/scalar.c src/abi/show.c src/base/clock.c src/base/mem.c src/base/pages.c
  src/base/quota.c src/base/thread.c src/rt/built.c src/rt/deque.c src/rt/pool.c
  src/rt/private.c src/rt/sched.c src/rt/team.c)
set_target_properties(weftrt_objects PROPERTIES
  POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
target_include_directories(weftrt_objects PRIVATE include src)
target_compile_definitions(weftrt_objects PRIVATE WEFT_VERSION="${PROJECT_VERSION}")
target_link_libraries(weftrt_objects PRIVATE weft_flags)

set(WEFTRT_MAP ${PROJECT_BINARY_DIR}/weftrt.map)
configure_file(cmake/weftrt.map.in ${WEFTRT_MAP} @ONLY)
add_library(weftrt_shared SHARED $<TARGET_OBJECTS:weftrt_objects>)
add_library(weft::weftrt ALIAS weftrt_shared)
set_target_properties(weftrt_shared PROPERTIES OUTPUT_NAME weftrt EXPORT_NAME weftrt
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${WEFTRT_MAP})
target_include_directories(weftrt_shared ${WEFT_HEADERS})
target_link_libraries(weftrt_shared PRIVATE weft_flags ${WEFT_LIBS} INTERFACE m)
target_link_options(weftrt_shared PRIVATE -Wl,--version-script=${WEFTRT_MAP})
if(NOT WEFT_SANITIZE) # whose names the program has; others: a source is missing above
  target_link_options(weftrt_shared PRIVATE -Wl,--no-undefined)
endif()

# One object, in which only the names of weft_rt.h are global, as for libweft.a.
set(WEFTRT_OBJECT ${PROJECT_BINARY_DIR}/weftrt.o)
add_custom_command(
  OUTPUT ${WEFTRT_OBJECT}
  COMMAND ${CMAKE_LINKER} -r -o ${WEFTRT_OBJECT} $<TARGET_OBJECTS:weftrt_objects>
  COMMAND ${CMAKE_OBJCOPY} --localize-hidden --strip-debug ${WEFTRT_OBJECT}
  DEPENDS weftrt_objects $<TARGET_OBJECTS:weftrt_objects>
  COMMENT "Joining the runtime into one object" COMMAND_EXPAND_LISTS VERBATIM)
add_library(weftrt_static STATIC ${WEFTRT_OBJECT})
add_library(weft::weftrt_static ALIAS weftrt_static)
set_source_files_properties(${WEFTRT_OBJECT} PROPERTIES EXTERNAL_OBJECT ON)
set_target_properties(weftrt_static PROPERTIES OUTPUT_NAME weftrt LINKER_LANGUAGE C)
target_include_directories(weftrt_static ${WEFT_HEADERS})
target_link_libraries(weftrt_static INTERFACE ${WEFT_LIBS})

set(WEFT_RT_OBJECT_C ${PROJECT_BINARY_DIR}/weftrt_object.c)
add_custom_command(
  OUTPUT ${WEFT_RT_OBJECT_C}
  COMMAND ${CMAKE_COMMAND} -DOUT=${WEFT_RT_OBJECT_C} -DFILES=runtime=${WEFTRT_OBJECT}
          -P ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake
  DEPENDS ${WEFTRT_OBJECT} ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake
  COMMENT "Embedding the runtime" VERBATIM)
