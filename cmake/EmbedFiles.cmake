# rolter_embed_files(OUTPUT name.inc FILES a.html b.css): writes an include file with one element
# {"a.html", <content>} per file. A changed file configures anew.
function(rolter_embed_files)
  cmake_parse_arguments(ARG "" "OUTPUT" "FILES" ${ARGN})
  set(text "")
  foreach(path ${ARG_FILES})
    get_filename_component(name ${path} NAME)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${path})
    file(READ ${path} content)
    string(APPEND text "{\"${name}\", R\"embedded(${content})embedded\"},\n")
  endforeach()
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${ARG_OUTPUT} CONTENT "${text}")
endfunction()
