# Makes html/ of the site. cmake -DSOURCE=... -DBUILD=... -DMATHJAX=.../MathJax.js [-DGNUPLOT=...] -P make_site.cmake
set(here ${BUILD}/docs)
set(made ${here}/made)
set(theme ${here}/theme)
find_path(AWESOME doxygen-awesome.css PATHS /usr/share/doxygen-awesome-css /usr/local/share/doxygen-awesome-css REQUIRED)
get_filename_component(MATHJAX "${MATHJAX}" DIRECTORY)

# A page that is gone must not stay on the site.
file(REMOVE_RECURSE ${here}/html ${theme})
file(MAKE_DIRECTORY ${theme})

function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${here} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# The theme. Header, footer and layout belong to the version of Doxygen: it writes them, we change a few lines.
file(GLOB sheets ${AWESOME}/*.css ${AWESOME}/*.js)
file(COPY ${sheets} DESTINATION ${theme})
file(WRITE ${theme}/plain "LAYOUT_FILE=\nHTML_HEADER=\nHTML_FOOTER=\nQUIET=YES\n")
run(doxygen -w html ${theme}/header.html ${theme}/footer.html ${theme}/unused.css ${theme}/plain)
run(doxygen -l ${theme}/layout.xml)
file(READ ${SOURCE}/docs/head.html head)
file(READ ${theme}/header.html header)
string(REPLACE "</head>" "${head}</head>" header "${header}")
file(WRITE ${theme}/header.html "${header}")
file(WRITE ${theme}/footer.html "<div id=\"nav-path\" class=\"navpath\"><ul>$navpath</ul></div>\n</body>\n</html>\n")
file(READ ${theme}/layout.xml layout)
file(READ ${SOURCE}/docs/sidebar.xml sidebar)
string(REGEX REPLACE "<navindex>.*</navindex>" "${sidebar}" layout "${layout}")
file(WRITE ${theme}/layout.xml "${layout}")

include(${SOURCE}/docs/lesson_list.cmake)

# Where there is no gnuplot, a sentence stands in the place of what it would have drawn.
if(NOT GNUPLOT)
  file(GLOB pages ${SOURCE}/lessons/*/walkthrough.md)
  foreach(page IN LISTS pages)
    file(STRINGS ${page} pictures REGEX "^.image html ")
    foreach(picture IN LISTS pictures)
      string(REGEX REPLACE "^.image html ([^ ]+).*" "\\1" picture "${picture}")
      if(NOT EXISTS ${made}/${picture} AND NOT EXISTS ${SOURCE}/bench/results/${picture})
        message(NOTICE "${picture} is not drawn: that needs the program gnuplot.")
        file(WRITE ${theme}/${picture} "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"560\" height=\"60\">"
          "<text x=\"280\" y=\"35\" text-anchor=\"middle\" fill=\"#888888\" font-family=\"Helvetica\">"
          "This picture was not drawn: that needs the program gnuplot.</text></svg>\n")
      endif()
    endforeach()
  endforeach()
endif()

# Any warning fails the site but one: members of a documented type, and specializations, may let their names speak.
run(doxygen Doxyfile)
file(STRINGS ${here}/warnings.txt warnings ENCODING UTF-8)
list(FILTER warnings EXCLUDE REGEX "Member .* of (class|struct) .* is not documented|Member [a-z_]+< .* is not documented")
foreach(warning IN LISTS warnings)
  message(NOTICE "${warning}")
endforeach()
if(warnings)
  message(FATAL_ERROR "The site is not made while Doxygen warns.")
endif()

# A diagram gets its own size or the width of the page, whichever is less.
file(REMOVE ${here}/html/doxygen.svg)
file(GLOB diagrams ${here}/html/*.svg)
foreach(diagram IN LISTS diagrams)
  file(READ ${diagram} text)
  string(REGEX REPLACE "<svg width=\"[0-9]+pt\" height=\"[0-9]+pt\"" "<svg" text "${text}")
  file(WRITE ${diagram} "${text}")
endforeach()
file(GLOB pages ${here}/html/*.html)
foreach(page IN LISTS pages)
  file(READ ${page} text)
  if(text MATCHES "<iframe")
    string(REGEX REPLACE "(<iframe [^>]*) width=\"([0-9]+)\" height=\"([0-9]+)\"" "\\1 style=\"width:\\2px;aspect-ratio:\\2/\\3\"" text "${text}")
    file(WRITE ${page} "${text}")
  endif()
endforeach()

# The part of MathJax that draws TeX as SVG.
foreach(part MathJax.js extensions jax/element jax/input/TeX jax/output/SVG/jax.js jax/output/SVG/config.js
    jax/output/SVG/autoload jax/output/SVG/fonts/TeX)
  get_filename_component(folder ${part} DIRECTORY)
  file(COPY ${MATHJAX}/${part} DESTINATION ${here}/html/mathjax/${folder} FOLLOW_SYMLINK_CHAIN)
endforeach()
